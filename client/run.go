package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"github.com/coop-dev/coop/api"
)

// stdinChunk is how much input travels in one frame.
const stdinChunk = 64 << 10

// Run follows the command to its end: stdin to it, its output to stdout and
// stderr byte for byte, signals (named as "SIGINT") to it. It returns what
// became of the command, and kept, which is set when req.OnExit was: whether
// the sandbox still exists. It closes the stream.
//
//	what happens                 what Run returns
//	the command ends             its result; a status other than 0 is no error
//	it cannot be started         the daemon's *api.Error
//	the daemon goes away         ErrLost; all output that came was written
//	a writer fails               that error, so that errors.Is(err, syscall.EPIPE) holds
//	stdin fails, not at its end  that error: a command must not take half its input for all
//	ctx is done                  ctx.Err() and its cause, both for errors.Is
//
// A nil stdin is no input at all, nil signals are none. Run does not wait for a
// Read of stdin that is under way, for a terminal's cannot be interrupted: what
// that one brings is lost.
func (s *Stream) Run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, signals <-chan string) (result *api.ExecResult, kept *bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var relay sync.WaitGroup
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // wakes every read and write of the connection
	defer func() {
		stop()
		cancel(nil)
		_ = s.Close() // the result is known; nothing depends on how this ends
		relay.Wait()
	}()

	if stdin != nil {
		go s.copyStdin(stdin, cancel)
	}
	relay.Go(func() { s.relaySignals(ctx, signals) })

	end, err := s.copyOutput(stdout, stderr)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, nil, stopped(ctx)
	case err != nil:
		return nil, nil, err
	case end.Error != nil:
		return nil, end.Kept, end.Error
	}
	return end.Exit, end.Kept, nil
}

// copyStdin sends input until it ends. Errors of the connection are not told:
// the reading side sees them too, and knows whether the command has ended.
func (s *Stream) copyStdin(stdin io.Reader, fail context.CancelCauseFunc) {
	frame := make([]byte, api.FrameHeaderSize+stdinChunk)
	for {
		n, err := stdin.Read(frame[api.FrameHeaderSize:])
		if n > 0 && s.sendStdin(frame, n) != nil {
			return
		}
		// EIO: the terminal we belonged to is gone, read(2). That is an end.
		if errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) {
			_ = s.CloseStdin() // see above
			return
		}
		if err != nil {
			fail(fmt.Errorf("read input: %w", err))
			return
		}
	}
}

func (s *Stream) sendStdin(frame []byte, n int) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.sendData(frame, n)
}

func (s *Stream) relaySignals(ctx context.Context, signals <-chan string) {
	for {
		select {
		case <-ctx.Done():
			return
		case name, ok := <-signals:
			if !ok {
				return
			}
			_ = s.Signal(name) // a command that has ended, or a daemon that has gone, is told by the output
		}
	}
}

// copyOutput writes output until the daemon says how it ended.
func (s *Stream) copyOutput(stdout, stderr io.Writer) (*api.Control, error) {
	for {
		kind, n, err := api.ReadFrameHeader(s.r)
		if err != nil {
			return nil, lost(err)
		}
		switch kind {
		case api.FrameData:
			err = s.pass(stdout, n)
		case api.FrameStderr:
			err = s.pass(stderr, n)
		case api.FrameControl:
			end, err := s.ending(n)
			if end != nil || err != nil {
				return end, err
			}
		}
		if err != nil {
			return nil, err
		}
	}
}

// pass writes the n bytes of a frame straight out of the read buffer, as soon
// as any of them is there.
func (s *Stream) pass(w io.Writer, n int) error {
	for n > 0 {
		if _, err := s.r.Peek(1); err != nil {
			return lost(err)
		}
		chunk, _ := s.r.Peek(min(n, s.r.Buffered())) // no error: it is there
		if _, err := w.Write(chunk); err != nil {
			return fmt.Errorf("write output: %w", err)
		}
		n -= len(chunk)
		_, _ = s.r.Discard(len(chunk)) // no error: it is there
	}
	return nil
}

// ending reads a control frame and returns it if it is the last one.
func (s *Stream) ending(n int) (*api.Control, error) {
	control, err := s.control(n)
	switch {
	case err != nil:
		return nil, lost(err)
	case control.Type == "exit" && control.Exit == nil, control.Type == "error" && control.Error == nil:
		return nil, lost(fmt.Errorf("empty %q frame", control.Type))
	case control.Type == "exit", control.Type == "error":
		return control, nil
	}
	return nil, nil // started, or something newer than this client
}

func lost(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrLost
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

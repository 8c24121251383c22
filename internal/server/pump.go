package server

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coop-dev/coop/internal/linux/fdpass"
)

const (
	pumpBuffer  = 64 << 10 // what a pipe holds
	firstBuffer = 4 << 10  // enough for most commands; a full one is exchanged for a large one

	// drainLimit is the largest pipe an unprivileged process can have
	// (fs.pipe-max-size). A pipe is first in, first out: what the main process
	// wrote is among the first so many bytes.
	drainLimit = 1 << 20
)

// longAgo as a deadline ends reads and writes that wait.
func longAgo() time.Time { return time.Unix(1, 0) }

// sink takes a piece of output. The piece has headroom bytes before it that
// the sink may use; neither is its own after it returned.
type sink struct {
	headroom int
	take     func(buf []byte) // headroom, then the piece
}

// pumps move bytes between a command's pipes and its client.
//
// Children that the main process left in the background still hold its pipes,
// so the end of a command is never read from them. Once Wait has returned,
// stop lets each pump take what is in its pipe without waiting, and no more.
type pumps struct {
	exec    Exec
	outputs []*os.File
	stdin   *os.File
	source  io.Reader
	wg      sync.WaitGroup
	abandon atomic.Bool // the command goes on without us
}

// startPumps begins moving. stdin may be nil.
func startPumps(ex Exec, stdout, stderr sink, stdin io.Reader) (*pumps, error) {
	p := &pumps{exec: ex, outputs: []*os.File{ex.Stdout(), ex.Stderr()}, stdin: ex.Stdin(), source: stdin}
	for _, f := range p.outputs {
		if err := f.SetReadDeadline(time.Time{}); err != nil {
			return nil, fmt.Errorf("output pipe cannot be polled: %w", err)
		}
	}
	if stdin != nil && p.stdin == nil {
		return nil, errors.New("the command has no stdin pipe")
	}
	p.wg.Go(func() { p.pump(p.outputs[0], stdout) })
	p.wg.Go(func() { p.pump(p.outputs[1], stderr) })
	if stdin != nil {
		p.wg.Go(p.feed)
	}
	return p, nil
}

// stop ends the pumps after the command has ended.
func (p *pumps) stop() {
	for _, f := range p.outputs {
		_ = f.SetReadDeadline(longAgo()) // fails only on a closed file, whose pump has ended
	}
	if p.stdin != nil {
		_ = p.stdin.SetWriteDeadline(longAgo()) // the same
	}
	if q, ok := p.source.(*stdinQueue); ok {
		q.drop()
	}
	p.wg.Wait()
}

// leave ends the pumps of a command that goes on, and takes nothing more from
// its pipes: the next daemon will.
func (p *pumps) leave() {
	p.abandon.Store(true)
	p.stop()
}

func (p *pumps) pump(f *os.File, to sink) {
	buf := make([]byte, to.headroom+firstBuffer)
	for {
		n, err := f.Read(buf[to.headroom:])
		if n > 0 {
			to.take(buf[:to.headroom+n])
		}
		if n == firstBuffer && len(buf) < pumpBuffer {
			buf = make([]byte, to.headroom+pumpBuffer)
		}
		if errors.Is(err, os.ErrDeadlineExceeded) && !p.abandon.Load() {
			_ = f.SetReadDeadline(time.Time{}) // drain does not wait, but a past deadline would refuse it
			drain(f, buf, to)
		}
		if err != nil {
			return
		}
	}
}

// drain takes what is in the pipe now; Go's own Read would wait for more.
func drain(f *os.File, buf []byte, to sink) {
	for left := drainLimit; left > 0; {
		n, err := fdpass.ReadNow(f, buf[to.headroom:])
		if err != nil || n <= 0 {
			return
		}
		to.take(buf[:to.headroom+n])
		left -= n
	}
}

// feed writes stdin and closes it at the end. A command that does not read it,
// or has ended, is no error: EPIPE and the deadline just end the feeding.
func (p *pumps) feed() {
	_, _ = io.Copy(p.stdin, p.source)
	if q, ok := p.source.(*stdinQueue); ok {
		q.drop()
	}
	if !p.abandon.Load() {
		_ = p.exec.CloseStdin() // the command may have ended, and its pipe with it
	}
}

package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/coop-dev/coop/api"
)

// readBuffer is how much of a stream one read may bring. Output goes from it to
// the writer without another copy.
const readBuffer = 256 << 10

// Stream is a command, or a terminal, that runs while its client looks on.
// Writing methods may be called from any goroutine; Next and Run, which is for
// commands, from one at a time.
type Stream struct {
	conn    io.ReadWriteCloser
	r       *bufio.Reader
	payload []byte // what Next returns, reused

	writing sync.Mutex // a frame is written whole
	frame   []byte     // WriteStdin's, reused

	// Signals travel beside the stream once the command has a name: see Signal.
	beside func(exec, signal string) error
	exec   atomic.Pointer[string]

	close func() error
}

// Attach starts a command and returns the stream of its input and output. The
// context bounds the start only; Close ends the stream, and what becomes of the
// command and the sandbox then is what req.OnExit says.
func (c *Client) Attach(ctx context.Context, ref string, exec api.ExecRequest) (*Stream, error) {
	path, err := sandboxPath(ref, "/exec/attach")
	if err != nil {
		return nil, err
	}
	req, err := c.request(ctx, http.MethodPost, path, exec)
	if err != nil {
		return nil, err
	}
	stream, err := c.upgrade(req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stream.beside = func(exec, signal string) error { return c.SignalExec(ctx, ref, exec, signal) }
	stream.close = sync.OnceValue(func() error {
		cancel()
		return stream.conn.Close()
	})
	return stream, nil
}

// upgrade sends a request whose answer is a stream of frames.
func (c *Client) upgrade(req *http.Request) (*Stream, error) {
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", api.UpgradeProtocol)
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	conn, ok := resp.Body.(io.ReadWriteCloser) // net/http promises it after a 101
	if !ok || resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body.Close()
		return nil, &api.Error{Code: api.CodeInternal, Message: "daemon did not switch to " + api.UpgradeProtocol}
	}
	return &Stream{conn: conn, r: bufio.NewReaderSize(conn, readBuffer), close: sync.OnceValue(conn.Close)}, nil
}

// Frame is one message of the daemon. Control is set for api.FrameControl,
// otherwise Payload is output.
type Frame struct {
	Kind    byte
	Payload []byte // valid until the next call of Next
	Control *api.Control
}

// Next waits for a frame. io.EOF is a stream that ended between frames; one
// that ended inside a frame gives the output that came and io.ErrUnexpectedEOF.
func (s *Stream) Next() (Frame, error) {
	kind, n, err := api.ReadFrameHeader(s.r)
	if err != nil {
		return Frame{}, err
	}
	if kind == api.FrameControl {
		control, err := s.control(n)
		return Frame{Kind: kind, Control: control}, err
	}
	if cap(s.payload) < n {
		s.payload = make([]byte, n)
	}
	got, err := io.ReadFull(s.r, s.payload[:n])
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return Frame{Kind: kind, Payload: s.payload[:got]}, err
}

// control reads the n bytes of a control frame.
func (s *Stream) control(n int) (*api.Control, error) {
	data := make([]byte, n)
	if _, err := io.ReadFull(s.r, data); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	control := new(api.Control)
	if err := json.Unmarshal(data, control); err != nil {
		return nil, fmt.Errorf("control frame: %w", err)
	}
	if control.Type == "started" && control.Exec != "" {
		s.exec.Store(&control.Exec)
	}
	return control, nil
}

// WriteStdin sends input. It blocks while the command does not read.
func (s *Stream) WriteStdin(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.frame == nil {
		s.frame = make([]byte, api.FrameHeaderSize+stdinChunk)
	}
	written := 0
	for written < len(p) {
		n := copy(s.frame[api.FrameHeaderSize:], p[written:])
		if err := s.sendData(s.frame, n); err != nil {
			return written, err
		}
		written += n
	}
	return written, nil
}

// sendData writes the n bytes that stand in frame after room for a header. The
// caller holds s.writing.
func (s *Stream) sendData(frame []byte, n int) error {
	api.PutFrameHeader((*[api.FrameHeaderSize]byte)(frame), api.FrameData, n)
	_, err := s.conn.Write(frame[:api.FrameHeaderSize+n])
	return err
}

// CloseStdin tells the command that its input has ended.
func (s *Stream) CloseStdin() error { return s.sendControl(api.Control{Type: "closeStdin"}) }

// Signal sends a signal, named as "SIGTERM", to the command. Frames keep their
// order, so behind input that the command does not read one would wait for
// ever; once the command has started the signal goes by a request of its own.
// A frame is for the time before that, and for a daemon without that request.
func (s *Stream) Signal(name string) error {
	if exec := s.exec.Load(); exec != nil && *exec != "" {
		var failure *api.Error
		err := s.beside(*exec, name)
		if !errors.As(err, &failure) || failure.Code != api.CodeNotFound {
			return err
		}
	}
	return s.sendControl(api.Control{Type: "signal", Signal: name})
}

func (s *Stream) sendControl(control api.Control) error {
	data, err := json.Marshal(control)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	return api.WriteFrame(s.conn, api.FrameControl, data)
}

// Close ends the stream; it may be called twice and from any goroutine.
func (s *Stream) Close() error { return s.close() }

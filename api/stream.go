package api

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Attach streams carry tagged frames once a connection has been upgraded:
//
//	byte 0    type
//	byte 1-4  length of the payload, big endian
//	byte 5-   payload
//
// Both sides send data and control frames; only the daemon sends stderr.
//
//	type  name     client → daemon       daemon → client
//	0x00  data     stdin                 stdout
//	0x01  control  signal, closeStdin,   started, exit, error
//	               resize
//	0x02  stderr   —                     stderr
const (
	FrameData    byte = 0x00
	FrameControl byte = 0x01
	FrameStderr  byte = 0x02
)

// UpgradeProtocol is the value of the Upgrade header that asks for frames.
const UpgradeProtocol = "coop-stream"

// MaxFrame bounds a payload; a longer one is a protocol error, never an
// allocation.
const MaxFrame = 1 << 20

// FrameHeaderSize is the length of the fixed part of a frame.
const FrameHeaderSize = 5

// Control is the payload of a control frame, or a text message of a WebSocket.
//
//	stream    client → daemon               daemon → client
//	exec      signal, closeStdin, detach    started, exit, error
//	terminal  resize, detach                attached, screen, resize, started, exit,
//	                                        restarting, failed, degraded, refused, detached, error
//
// Clients ignore types they do not know.
type Control struct {
	Type   string `json:"type"`
	Signal string `json:"signal,omitempty"`
	Cols   int    `json:"cols,omitempty"`
	Rows   int    `json:"rows,omitempty"`

	Exec  string      `json:"exec,omitempty"`  // started: the exec's id
	Exit  *ExecResult `json:"exit,omitempty"`  // exit: stdout and stderr are empty, they were streamed
	Error *Error      `json:"error,omitempty"` // error: the command could not be started, or Coop failed; refused: why input was not taken
	Kept  *bool       `json:"kept,omitempty"`  // exit: whether the sandbox still exists, when OnExit was given

	Terminal *Terminal `json:"terminal,omitempty"` // attached, started: the terminal as it is then
	DelayMs  int64     `json:"delayMs,omitempty"`  // restarting: how long until the next program
	Reason   string    `json:"reason,omitempty"`   // failed, detached, degraded; degraded without one: no longer
	Lagged   bool      `json:"lagged,omitempty"`   // screen: output was left out before it, the client was too slow
}

// PutFrameHeader writes the fixed part of a frame into b.
func PutFrameHeader(b *[FrameHeaderSize]byte, kind byte, length int) {
	b[0] = kind
	binary.BigEndian.PutUint32(b[1:], uint32(length))
}

// WriteFrame sends one frame in a single write, so that frames of several
// goroutines do not interleave on a connection whose writes are atomic.
func WriteFrame(w io.Writer, kind byte, payload []byte) error {
	if len(payload) > MaxFrame {
		return fmt.Errorf("frame of %d bytes, at most %d", len(payload), MaxFrame)
	}
	buf := make([]byte, FrameHeaderSize+len(payload))
	PutFrameHeader((*[FrameHeaderSize]byte)(buf), kind, len(payload))
	copy(buf[FrameHeaderSize:], payload)
	_, err := w.Write(buf)
	return err
}

// ReadFrameHeader reads the fixed part of the next frame and checks it.
// io.EOF means the stream ended between frames.
func ReadFrameHeader(r io.Reader) (kind byte, length int, err error) {
	var h [FrameHeaderSize]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return 0, 0, err
	}
	n := binary.BigEndian.Uint32(h[1:])
	if h[0] > FrameStderr {
		return 0, 0, fmt.Errorf("unknown frame type 0x%02x", h[0])
	}
	if n > MaxFrame {
		return 0, 0, fmt.Errorf("frame of %d bytes, at most %d", n, MaxFrame)
	}
	return h[0], int(n), nil
}

// ReadFrame reads one whole frame. A stream that ends inside a frame gives the
// bytes that came and io.ErrUnexpectedEOF, so that no output is thrown away.
func ReadFrame(r io.Reader) (kind byte, payload []byte, err error) {
	kind, n, err := ReadFrameHeader(r)
	if err != nil {
		return 0, nil, err
	}
	payload = make([]byte, n)
	got, err := io.ReadFull(r, payload)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return kind, payload[:got], err
}

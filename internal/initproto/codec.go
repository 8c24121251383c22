package initproto

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Bounds of a message. MaxToInit leaves room for the kernel's largest argument
// list; MaxFromInit is small because PID 1 lives inside the sandbox.
const (
	MaxToInit   = 16 << 20
	MaxFromInit = 4 << 20
	MaxFDs      = 250 // the kernel passes at most 253 at once
)

// Socket is a stream socket that carries descriptors. Send writes all of b with
// the descriptors on its first byte; Recv reads at most len(b) bytes and gives
// whatever descriptors came with them.
type Socket interface {
	Send(b []byte, fds []int) error
	Recv(b []byte) (n int, fds []int, err error)
	Close() error
}

// Conn frames messages on a Socket. Any number of goroutines may write, one may
// read. Max bounds what is read.
type Conn struct {
	Socket Socket
	Max    int

	wmu    sync.Mutex
	closed bool
}

// Close ends the connection for everybody who still holds it: a later Write
// fails instead of reaching whoever has the descriptor's number by then.
// shutdown, if any, frees a writer that is blocked.
func (c *Conn) Close(shutdown func()) error {
	if shutdown != nil {
		shutdown()
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.Socket.Close()
}

// ErrProtocol is wrapped by every error that means the other end misbehaves.
var ErrProtocol = errors.New("protocol error")

// Write sends one message. The descriptors stay open on this side.
func (c *Conn) Write(m Message, fds ...int) error {
	m.FDs = len(fds)
	buf, err := framed(m)
	if err != nil {
		return err
	}
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if c.closed {
		return io.ErrClosedPipe
	}
	return c.Socket.Send(buf, fds)
}

// framed is a message with its length before it.
func framed(m Message) ([]byte, error) {
	buf, ok := appendExited(make([]byte, 4, 128), m)
	if !ok {
		body, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		buf = append(make([]byte, 4, 4+len(body)), body...)
	}
	binary.BigEndian.PutUint32(buf, uint32(len(buf)-4))
	return buf, nil
}

// Read receives one message. The caller owns the descriptors it returns. A
// clean end of the stream between two messages is io.EOF.
func (c *Conn) Read() (Message, []int, error) {
	var m Message
	var got fdList
	var head [4]byte
	if err := c.fill(head[:], &got, true); err != nil {
		return m, nil, got.discard(err)
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > uint32(c.Max) {
		return m, nil, got.discard(fmt.Errorf("%w: message of %d bytes, at most %d", ErrProtocol, size, c.Max))
	}
	body := make([]byte, size)
	if err := c.fill(body, &got, false); err != nil {
		return m, nil, got.discard(err)
	}
	m, err := decode(body)
	if err != nil {
		return m, nil, got.discard(fmt.Errorf("%w: %v", ErrProtocol, err))
	}
	if m.FDs != len(got) {
		return m, nil, got.discard(fmt.Errorf("%w: %d descriptors announced, %d came", ErrProtocol, m.FDs, len(got)))
	}
	return m, got, nil
}

func decode(body []byte) (Message, error) {
	m, ok := parseExited(body)
	if ok {
		return m, nil
	}
	err := json.Unmarshal(body, &m)
	return m, err
}

func (c *Conn) fill(b []byte, got *fdList, first bool) error {
	for done := 0; done < len(b); {
		n, fds, err := c.Socket.Recv(b[done:])
		*got = append(*got, fds...)
		if len(*got) > MaxFDs {
			return fmt.Errorf("%w: too many descriptors", ErrProtocol)
		}
		if err != nil {
			return err
		}
		if n == 0 && first && done == 0 {
			return io.EOF
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		done += n
	}
	return nil
}

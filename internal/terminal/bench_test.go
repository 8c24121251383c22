package terminal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
)

// endless is a program that prints faster than anybody can read.
type endless struct {
	pattern []byte
	total   uint64
}

func newEndless(line string, total uint64) *endless {
	return &endless{pattern: bytes.Repeat([]byte(line), largeRead/len(line)+1), total: total}
}

func (e *endless) ReadAt(p []byte, off uint64) (int, error) {
	if off >= e.total {
		return 0, io.EOF
	}
	at := int(off % uint64(len(e.pattern)))
	return copy(p[:min(uint64(len(p)), e.total-off)], e.pattern[at:]), nil
}

func (e *endless) Ack(uint64)                  {}
func (e *endless) Write(p []byte) (int, error) { return len(p), nil }
func (e *endless) Resize(int, int) error       { return nil }
func (e *endless) Stream() string              { return "endless" }
func (e *endless) Close() error                { return nil }

// BenchmarkOutput is the daemon's whole way from PID 1's ring to the clients'
// queues, with log and screen: the ceiling for what a client can get.
func BenchmarkOutput(b *testing.B) {
	lines := map[string]string{
		"text":    "the quick brown fox jumps over the lazy dog 0123456789\r\n",
		"colours": "\x1b[31mred\x1b[m and \x1b[1;32mgreen\x1b[0m words in a line\r\n",
		"moves":   "\x1b[5;10Hhello \x1b[7mworld\x1b[m\x1b[2K\x1b[12;40Hxyz",
	}
	for name, line := range lines {
		for _, clients := range []int{0, 1, 50} {
			b.Run(fmt.Sprintf("%s/clients=%d", name, clients), func(b *testing.B) {
				const total = 16 << 20
				b.SetBytes(total)
				for b.Loop() {
					outputOnce(b, newEndless(line, total), clients)
				}
			})
		}
	}
}

func outputOnce(b *testing.B, p Pty, clients int) {
	term, err := Open(Config{Role: RoleAgent, Dir: b.TempDir(), Pty: p})
	if err != nil {
		b.Fatal(err)
	}
	defer term.Close("")
	var wg sync.WaitGroup
	for range clients {
		c, err := term.Attach(ClientOptions{})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		wg.Go(func() {
			for {
				f, err := c.Next(context.Background())
				if err != nil || f.Control != nil && f.Control.Type == "exit" {
					return
				}
			}
		})
	}
	term.Started("sh", 1)
	if err := term.Exited(context.Background(), Status{}); err != nil {
		b.Fatal(err)
	}
	wg.Wait()
}

// BenchmarkAttach is what a client waits for the screen.
func BenchmarkAttach(b *testing.B) {
	term, err := Open(Config{Role: RoleAgent, Dir: b.TempDir(), Pty: newEndless("\x1b[3%dmsome text in a line of a full screen\r\n", 1<<20), Cols: 200, Rows: 60})
	if err != nil {
		b.Fatal(err)
	}
	defer term.Close("")
	term.Started("sh", 1)
	if err := term.Drain(context.Background()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c, err := term.Attach(ClientOptions{})
		if err != nil {
			b.Fatal(err)
		}
		for range 3 { // attached, screen, the screen itself
			if _, err := c.Next(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
		c.Close()
	}
}

package client_test

import (
	"bytes"
	"context"
	"errors"
	"hash"
	"hash/fnv"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

// attach starts a fake daemon whose command is given and attaches to it.
func attach(t *testing.T, command func(*fakedaemon.Session)) *client.Stream {
	t.Helper()
	d := fakedaemon.Start(t)
	d.Command = command
	d.Add(api.Sandbox{ID: "id1", Name: "box"})
	c := dial(t, client.Options{Socket: d.Socket})
	s, err := c.Attach(t.Context(), "box", api.ExecRequest{Command: "x", Interactive: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestRunPassesEverything(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	kept := true
	s := attach(t, func(s *fakedaemon.Session) {
		in, _ := s.Await("closeStdin")
		s.Stdout(in)
		s.Stdout(nil)
		s.Stderr([]byte("oh\n"))
		s.Control(api.Control{Type: "news of a later version"})
		s.Control(api.Control{Type: "exit", Exit: &api.ExecResult{ExitCode: 7}, Kept: &kept})
	})
	var out, errOut bytes.Buffer
	result, k, err := s.Run(t.Context(), bytes.NewReader(every), &out, &errOut, nil)
	if err != nil || result.ExitCode != 7 || k == nil || !*k {
		t.Fatalf("%+v %v %v", result, k, err)
	}
	if !bytes.Equal(out.Bytes(), every) || errOut.String() != "oh\n" {
		t.Errorf("out %q err %q", out.Bytes(), errOut.String())
	}
}

func TestRunLargeInput(t *testing.T) {
	const size = 5<<20 + 3
	s := attach(t, func(s *fakedaemon.Session) {
		in, _ := s.Await("closeStdin")
		s.Exit(len(in) >> 20)
	})
	result, _, err := s.Run(t.Context(), io.LimitReader(zeros{}, size), io.Discard, io.Discard, nil)
	if err != nil || result.ExitCode != 5 {
		t.Errorf("%+v %v", result, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A gigabyte of output must cost the client no more memory than a line of it.
func TestRunBoundedAllocation(t *testing.T) {
	const total, frame = 256 << 20, 256 << 10
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), frame/16)
	wire := make([]byte, api.FrameHeaderSize+frame)
	api.PutFrameHeader((*[api.FrameHeaderSize]byte)(wire), api.FrameData, frame)
	copy(wire[api.FrameHeaderSize:], chunk)
	s := attach(t, func(s *fakedaemon.Session) {
		for range total / frame {
			if !s.Raw(wire) {
				return
			}
		}
		s.Exit(0)
	})
	want := fnv.New64a()
	want.Write(chunk)
	sink := &periodic{sum: fnv.New64a(), frame: frame, want: want.Sum64()}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := s.Run(t.Context(), nil, sink, io.Discard, nil)
	runtime.ReadMemStats(&after)
	if err != nil || sink.total != total || sink.bad != 0 {
		t.Errorf("%d bytes, %d bad frames, %v", sink.total, sink.bad, err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("allocated %d bytes for %d of output", got, total)
	}
}

// periodic checks that every frame's worth of bytes has the same sum, without
// keeping them. Summing 1 of 64 frames keeps the race detector's time short.
type periodic struct {
	sum          hash.Hash64
	frame, total int
	want         uint64
	bad          int
}

func (p *periodic) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part := b[:min(len(b), p.frame-p.total%p.frame)]
		if p.total/p.frame%64 == 0 {
			p.sum.Write(part)
		}
		p.total += len(part)
		b = b[len(part):]
		if p.total%p.frame == 0 {
			if (p.total/p.frame-1)%64 == 0 && p.sum.Sum64() != p.want {
				p.bad++
			}
			p.sum.Reset()
		}
	}
	return n, nil
}

func TestRunKeepsOutputOfALostStream(t *testing.T) {
	for name, last := range map[string][]byte{
		"between frames":  nil,
		"inside a frame":  {0, 0, 0, 0, 9, 'l', 'a', 's', 't'},
		"inside a header": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := attach(t, func(s *fakedaemon.Session) {
				s.Stdout([]byte("first "))
				s.Raw(last)
			})
			var out strings.Builder
			_, _, err := s.Run(t.Context(), nil, &out, io.Discard, nil)
			if !errors.Is(err, client.ErrLost) || err.Error() != "connection to the daemon lost" {
				t.Errorf("%v", err)
			}
			if want := "first " + strings.TrimLeft(string(last), "\x00\x09"); out.String() != want {
				t.Errorf("%q, want %q", out.String(), want)
			}
		})
	}
}

func TestRunRefusesNonsense(t *testing.T) {
	for name, raw := range map[string]string{
		"type":        "\x09\x00\x00\x00\x01x",
		"length":      "\x00\xff\xff\xff\xffx",
		"control":     "\x01\x00\x00\x00\x01{",
		"empty exit":  "\x01\x00\x00\x00\x0f{\"type\":\"exit\"}",
		"empty error": "\x01\x00\x00\x00\x10{\"type\":\"error\"}",
	} {
		s := attach(t, func(s *fakedaemon.Session) { s.Raw([]byte(raw)); s.Await("never") })
		if _, _, err := s.Run(t.Context(), nil, io.Discard, io.Discard, nil); !errors.Is(err, client.ErrLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunErrorFrame(t *testing.T) {
	s := attach(t, func(s *fakedaemon.Session) {
		s.Control(api.Control{Type: "error", Error: &api.Error{Code: api.CodeInvalid, Details: map[string]any{"exitCode": 127}}})
	})
	_, _, err := s.Run(t.Context(), nil, io.Discard, io.Discard, nil)
	var failure *api.Error
	if !errors.As(err, &failure) || failure.Details["exitCode"] != 127.0 {
		t.Errorf("%v", err)
	}
}

func TestRunStopsWhenOutputIsClosed(t *testing.T) {
	gone := make(chan struct{})
	s := attach(t, func(s *fakedaemon.Session) {
		defer close(gone)
		for s.Stdout([]byte("y\n")) {
		}
	})
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	_, _, err = s.Run(t.Context(), nil, w, io.Discard, nil)
	if !errors.Is(err, syscall.EPIPE) || errors.Is(err, client.ErrLost) {
		t.Errorf("%v", err)
	}
	<-gone // the daemon saw us leave
}

func TestRunStdinFails(t *testing.T) {
	s := attach(t, func(s *fakedaemon.Session) { s.Await("closeStdin") })
	broken := errors.New("bad disk")
	stdin := io.MultiReader(strings.NewReader("half"), errReader{broken})
	if _, _, err := s.Run(t.Context(), stdin, io.Discard, io.Discard, nil); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestRunHangUpIsTheEndOfInput(t *testing.T) {
	s := attach(t, func(s *fakedaemon.Session) { s.Await("closeStdin"); s.Exit(0) })
	if _, _, err := s.Run(t.Context(), errReader{syscall.EIO}, io.Discard, io.Discard, nil); err != nil {
		t.Error(err)
	}
}

func TestRunSignalsAndEndsWithContext(t *testing.T) {
	s := attach(t, func(s *fakedaemon.Session) {
		_, c := s.Await("signal")
		s.Stdout([]byte(c.Signal))
		s.Await("never")
	})
	ctx, cancel := context.WithCancel(t.Context())
	signals := make(chan string, 1)
	signals <- "SIGUSR1"
	var out writerFunc = func(p []byte) (int, error) {
		if string(p) != "SIGUSR1" {
			t.Errorf("%q", p)
		}
		cancel()
		return len(p), nil
	}
	if _, _, err := s.Run(ctx, nil, out, io.Discard, signals); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// A command that does not read must not keep Run from ending.
func TestRunBlockedStdin(t *testing.T) {
	s := attach(t, func(s *fakedaemon.Session) { s.Exit(3) })
	result, _, err := s.Run(t.Context(), zeros{}, io.Discard, io.Discard, nil)
	if err != nil || result.ExitCode != 3 {
		t.Errorf("%+v %v", result, err)
	}
}

// Nor may it keep a signal away: `yes | coop exec -- sleep 9` and Ctrl+C.
func TestSignalPassesBlockedStdin(t *testing.T) {
	d := fakedaemon.New(t)
	d.Signals = make(chan string, 1)
	d.Command = func(s *fakedaemon.Session) { // reads nothing
		if <-d.Signals == "SIGINT" {
			s.Exit(130)
		}
	}
	d.Listen(t)
	d.Add(api.Sandbox{ID: "id1", Name: "box"})
	c := dial(t, client.Options{Socket: d.Socket})
	s, err := c.Attach(t.Context(), "box", api.ExecRequest{Command: "sleep", Interactive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if f, err := s.Next(); err != nil || f.Control.Type != "started" {
		t.Fatalf("%+v %v", f, err)
	}
	signals := make(chan string, 1)
	signals <- "SIGINT"
	result, _, err := s.Run(t.Context(), zeros{}, io.Discard, io.Discard, signals)
	if err != nil || result.ExitCode != 130 {
		t.Errorf("%+v %v", result, err)
	}
}

func TestNext(t *testing.T) {
	s := attach(t, func(s *fakedaemon.Session) {
		in, _ := s.Await("closeStdin")
		s.Stderr(in)
		s.Exit(0)
	})
	if _, err := s.WriteStdin(bytes.Repeat([]byte("a"), 100<<10)); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseStdin(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for {
		f, err := s.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if f.Control != nil {
			got = append(got, f.Control.Type)
			continue
		}
		if f.Kind != api.FrameStderr || len(f.Payload) != 100<<10 {
			t.Errorf("kind %d, %d bytes", f.Kind, len(f.Payload))
		}
		got = append(got, "stderr")
	}
	if strings.Join(got, " ") != "started stderr exit" {
		t.Errorf("%q", got)
	}
}

func TestAttachRefused(t *testing.T) {
	d := fakedaemon.Start(t)
	c := dial(t, client.Options{Socket: d.Socket})
	_, err := c.Attach(t.Context(), "nobody", api.ExecRequest{Command: "x"})
	var failure *api.Error
	if !errors.As(err, &failure) || failure.Code != api.CodeNotFound {
		t.Errorf("%v", err)
	}
}

func BenchmarkRun(b *testing.B) {
	const frame = 256 << 10
	wire := make([]byte, api.FrameHeaderSize+frame)
	api.PutFrameHeader((*[api.FrameHeaderSize]byte)(wire), api.FrameData, frame)
	d := fakedaemon.New(b)
	d.Command = func(s *fakedaemon.Session) {
		for range b.N {
			s.Raw(wire)
		}
		s.Exit(0)
	}
	d.Listen(b)
	d.Add(api.Sandbox{ID: "id1"})
	c, err := client.New(client.Options{Socket: d.Socket})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	s, err := c.Attach(b.Context(), "id1", api.ExecRequest{Command: "x"})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(frame)
	b.ReportAllocs()
	b.ResetTimer() // the command writes b.N frames
	if _, _, err := s.Run(b.Context(), nil, io.Discard, io.Discard, nil); err != nil {
		b.Fatal(err)
	}
}

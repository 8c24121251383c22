package initproto

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// pair is two ends of a real socket; what the test does not close is closed.
func pair(t testing.TB) (ours, theirs *Conn) {
	t.Helper()
	a, b, err := fdpass.Pair()
	if err != nil {
		t.Fatal(err)
	}
	ours = &Conn{Socket: &once{Socket: fdpass.Socket{FD: a}}, Max: MaxToInit}
	theirs = &Conn{Socket: &once{Socket: fdpass.Socket{FD: b}}, Max: MaxToInit}
	t.Cleanup(func() { ours.Socket.Close(); theirs.Socket.Close() })
	return ours, theirs
}

// once keeps a second Close from reaching somebody else's descriptor.
type once struct {
	fdpass.Socket
	done sync.Once
}

func (o *once) Close() (err error) {
	o.done.Do(func() { err = o.Socket.Close() })
	return err
}

// devNull gives n descriptors that are closed at the end.
func devNull(t testing.TB, n int) []int {
	t.Helper()
	var fds []int
	for range n {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		fds = append(fds, fd)
	}
	t.Cleanup(func() { fdpass.CloseAll(fds) })
	return fds
}

// openFDs counts this process's descriptors.
func openFDs(t testing.TB) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

// sent writes a few raw bytes with descriptors and hangs up.
func sent(t testing.TB, c *Conn, b []byte, fds ...int) {
	t.Helper()
	if err := c.Socket.Send(b, fds); err != nil {
		t.Fatal(err)
	}
	c.Socket.Close()
}

func frame(t testing.TB, m Message) []byte {
	t.Helper()
	body, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func TestRoundTrip(t *testing.T) {
	for _, m := range []Message{
		{ID: 1, Op: OpSetup, Setup: &Setup{
			Hostname: "box", ReadonlyRoot: true, OwnNet: true, Groups: true, Bounding: 1<<40 - 1, TmpBytes: 5,
			Mounts: []Mount{{FD: 1, Target: "/usr", Root: true}, {FD: 2, Target: "/workspace", ReadOnly: true}},
		}},
		{ID: 1, Op: OpReady, Ready: &Ready{Degraded: []Missing{{"mask", "why"}}}},
		{Op: OpCommit},
		{ID: 2, Op: OpHello, Hello: &Hello{Version: Version, Execs: []Exec{{ID: "a", PID: 7, Note: `{"x":1}`, Stdin: true, Status: &Status{Code: 137, Signal: 9}}}}},
		{ID: 3, Op: OpSpawn, Spawn: &Spawn{Exec: "e", Argv: []string{"/bin/sh", "-c", "echo ä\n"}, Env: []string{"A=b"}, Dir: "/", User: "0", Stdin: true, Note: "n"}},
		{Op: OpExited, Exec: "e", Status: &Status{Code: 0}},
		{Op: OpExited, Exec: "t", Status: &Status{Code: 143, Signal: 15, End: 1 << 40, RanMs: 6000}},
		{ID: 9, Op: OpTerminal, Terminal: &Terminal{Number: 3, Cols: 80, Rows: 24}, Spawn: &Spawn{Exec: "t", Argv: []string{"/bin/sh"}, Env: []string{"TERM=x"}, Dir: "/", User: "root", Login: true, Note: "{}"}},
		{ID: 10, Op: OpHello, Hello: &Hello{Version: Version, NextTerminal: 4, Terminals: []Terminal{{Number: 3, Exec: "t", PID: 8, Note: "{}", Status: &Status{Code: 1, End: 7}}}}},
		{ID: 1<<64 - 1, Op: OpSignal, PID: 9, Signal: 15, Exec: "e"},
		{ID: 4, Op: OpOpen, Open: &Open{Path: "/a b", Flags: os.O_RDWR, Mode: 0o644}},
		{ID: 5, Op: OpAttach, Attach: &Mount{Target: "/mnt", ReadOnly: true}},
		{ID: 6, Op: OpProcesses, Processes: []Process{{PID: 2, PPID: 1, UID: 3, State: "S", Command: "sh", CPUMs: 1, RSS: 2, AgeMs: 3, Exec: "e"}}},
		{ID: 7, Op: OpTerminate, Terminate: &Terminate{GraceMs: 5000}},
		{ID: 8, Op: OpOpen, Error: &Error{Step: "open", Errno: int(syscall.EPERM), Path: "/x", Message: "no"}},
	} {
		t.Run(string(m.Op), func(t *testing.T) {
			ours, theirs := pair(t)
			if err := ours.Write(m); err != nil {
				t.Fatal(err)
			}
			got, fds, err := theirs.Read()
			if err != nil || len(fds) != 0 {
				t.Fatal(fds, err)
			}
			if !reflect.DeepEqual(got, m) {
				t.Errorf("got %+v\nwant %+v", got, m)
			}
		})
	}
}

// TestStreamStaysInStep: messages with and without descriptors one after the
// other each get their own.
func TestStreamStaysInStep(t *testing.T) {
	ours, theirs := pair(t)
	counts := []int{0, 3, 0, MaxFDs, 1}
	var wg sync.WaitGroup
	defer wg.Wait()
	all := devNull(t, MaxFDs)
	wg.Go(func() {
		for i, n := range counts {
			m := Message{ID: uint64(i + 1), Op: OpSpawn, Exec: strings.Repeat("x", i*50000)}
			if err := ours.Write(m, all[:n]...); err != nil {
				t.Error(err)
			}
		}
		ours.Socket.Close()
	})
	for i, n := range counts {
		m, fds, err := theirs.Read()
		if err != nil {
			t.Fatal(err)
		}
		if m.ID != uint64(i+1) || m.FDs != n || len(fds) != n || len(m.Exec) != i*50000 {
			t.Errorf("message %d: id %d, %d descriptors announced, %d came", i, m.ID, m.FDs, len(fds))
		}
		for _, fd := range fds {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
				t.Errorf("descriptor %d survives an exec: %v", fd, err)
			}
		}
		fdpass.CloseAll(fds)
	}
	if _, _, err := theirs.Read(); err != io.EOF {
		t.Errorf("after the last: %v, want EOF", err)
	}
}

// TestWritersDoNotMix: many writers, whole messages.
func TestWritersDoNotMix(t *testing.T) {
	ours, theirs := pair(t)
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for range each {
				if err := ours.Write(Message{ID: uint64(w), Op: OpAck, Exec: strings.Repeat("x", 3000*w)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range writers * each {
		m, _, err := theirs.Read()
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Exec) != 3000*int(m.ID) {
			t.Fatalf("message of writer %d has %d bytes", m.ID, len(m.Exec))
		}
	}
	wg.Wait()
}

// TestBrokenMessagesLeaveNoDescriptors sends every kind of broken message with
// descriptors and counts what is open afterwards.
func TestBrokenMessagesLeaveNoDescriptors(t *testing.T) {
	three := Message{Op: OpSpawn, FDs: 3}
	for name, c := range map[string]struct {
		bytes []byte
		fds   int
		want  error
	}{
		"fewer than announced":    {frame(t, three), 2, ErrProtocol},
		"more than announced":     {frame(t, three), 4, ErrProtocol},
		"announced, none came":    {frame(t, three), 0, ErrProtocol},
		"not announced":           {frame(t, Message{Op: OpAck}), 1, ErrProtocol},
		"negative announcement":   {frame(t, Message{Op: OpAck, FDs: -1}), 1, ErrProtocol},
		"cut in the length":       {[]byte{0, 0}, 1, io.ErrUnexpectedEOF},
		"cut after the length":    {[]byte{0, 0, 0, 9}, 1, io.ErrUnexpectedEOF},
		"cut in the body":         {frame(t, three)[:12], 3, io.ErrUnexpectedEOF},
		"longer than allowed":     {append([]byte{0, 1, 0, 1}, make([]byte, 100)...), 2, ErrProtocol},
		"as long as can be said":  {bytes.Repeat([]byte{255}, 100), 2, ErrProtocol},
		"empty":                   {[]byte{0, 0, 0, 0}, 1, ErrProtocol},
		"no JSON":                 {append([]byte{0, 0, 0, 5}, "hello"...), 1, ErrProtocol},
		"JSON of another kind":    {append([]byte{0, 0, 0, 2}, "[]"...), 1, ErrProtocol},
		"a field of another kind": {append([]byte{0, 0, 0, 11}, `{"op":{}}  `...), 1, ErrProtocol},
		"more than fit":           {frame(t, three), 253, ErrProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := pair(t)
			theirs.Max = 1 << 16
			fds := devNull(t, c.fds)
			sent(t, ours, c.bytes, fds...)
			before := openFDs(t)
			m, got, err := theirs.Read()
			if !errors.Is(err, c.want) || got != nil {
				t.Errorf("%+v, %v, %v; want %v", m, got, err, c.want)
			}
			if after := openFDs(t); after > before {
				t.Errorf("%d descriptors before, %d after", before, after)
			}
		})
	}
}

// TestDescriptorsOnLaterBytes: a peer that spreads descriptors over a message is
// understood, and one that sends too many in all is not.
func TestDescriptorsOnLaterBytes(t *testing.T) {
	ours, theirs := pair(t)
	fds := devNull(t, 200)
	b := frame(t, Message{Op: OpSpawn, FDs: 2})
	for _, part := range [][]byte{b[:2], b[2:]} {
		if err := ours.Socket.Send(part, fds[:1]); err != nil {
			t.Fatal(err)
		}
	}
	_, got, err := theirs.Read()
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	fdpass.CloseAll(got)
	before := openFDs(t)
	b = frame(t, Message{Op: OpSpawn, FDs: 400})
	for _, part := range [][]byte{b[:2], b[2:]} {
		if err := ours.Socket.Send(part, fds); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := theirs.Read(); !errors.Is(err, ErrProtocol) {
		t.Errorf("400 descriptors: %v", err)
	}
	if after := openFDs(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestMaxIsInclusive(t *testing.T) {
	ours, theirs := pair(t)
	b := frame(t, Message{Op: OpAck, Exec: "0123456789"})
	theirs.Max = len(b) - 4
	sent(t, ours, append(b, b...))
	if _, _, err := theirs.Read(); err != nil {
		t.Errorf("a message of exactly Max bytes: %v", err)
	}
	theirs.Max--
	if _, _, err := theirs.Read(); !errors.Is(err, ErrProtocol) {
		t.Errorf("one byte more than Max: %v", err)
	}
}

func TestErrorSpeaksOfStepAndCause(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want string
		is   error
	}{
		{&Error{Step: "mount proc", Errno: int(syscall.EPERM)}, "mount proc: operation not permitted", syscall.EPERM},
		{&Error{Step: "open", Path: "/x", Errno: int(syscall.ENOENT), Message: "gone"}, "open /x: gone", syscall.ENOENT},
		{&Error{Step: "init", Message: "odd"}, "init: odd", nil},
	} {
		if c.err.Error() != c.want {
			t.Errorf("%q, want %q", c.err.Error(), c.want)
		}
		if c.is == nil && c.err.Unwrap() != nil || c.is != nil && !errors.Is(c.err, c.is) {
			t.Errorf("%v unwraps to %v, want %v", c.err, c.err.Unwrap(), c.is)
		}
	}
}

// fakeSocket serves bytes in pieces of one size.
type fakeSocket struct {
	data  []byte
	piece int
}

func (f *fakeSocket) Recv(b []byte) (int, []int, error) {
	n := copy(b, f.data[:min(f.piece, len(f.data))])
	f.data = f.data[n:]
	return n, nil, nil
}
func (f *fakeSocket) Send([]byte, []int) error { return nil }
func (f *fakeSocket) Close() error             { return nil }

// FuzzRead: whatever PID 1 writes, the daemon gets messages or an error, never
// more than it allows, and comes to an end.
func FuzzRead(f *testing.F) {
	good := frame(f, Message{ID: 7, Op: OpProcesses, Processes: []Process{{PID: 1, Command: "x"}}})
	for _, seed := range [][]byte{
		nil,
		{0},
		{0, 0, 0, 0},
		{0, 0, 0, 2, '{', '}'},
		{255, 255, 255, 255},
		good, append(good, good...), good[:9],
		append([]byte{0, 0, 0, 9}, `{"fds":1}`...), append([]byte{0, 0, 0, 4}, "null"...),
	} {
		f.Add(seed, uint8(1))
		f.Add(seed, uint8(200))
	}
	f.Fuzz(func(t *testing.T, data []byte, piece uint8) {
		c := &Conn{Socket: &fakeSocket{data: data, piece: int(piece) + 1}, Max: 4096}
		for left := len(data)/4 + 1; ; left-- {
			if left < 0 {
				t.Fatal("more messages than there are lengths")
			}
			m, fds, err := c.Read()
			if err != nil {
				return
			}
			if len(fds) != 0 || m.FDs != 0 {
				t.Fatalf("descriptors from nowhere: %d, %v", m.FDs, fds)
			}
			if _, err := json.Marshal(m); err != nil {
				t.Fatalf("a message that was read cannot be written: %v", err)
			}
		}
	})
}

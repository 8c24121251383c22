package fdpass

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func pair(t *testing.T) (a, b Socket) {
	t.Helper()
	x, y, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { CloseAll([]int{x, y}) })
	return Socket{x}, Socket{y}
}

func cloexec(t *testing.T, fd int) bool {
	t.Helper()
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil {
		t.Fatal(err)
	}
	return flags&unix.FD_CLOEXEC != 0
}

func TestDescriptorsTravel(t *testing.T) {
	a, b := pair(t)
	if !cloexec(t, a.FD) || !cloexec(t, b.FD) {
		t.Error("the sockets survive an exec")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if err := a.Send([]byte("hello"), []int{Number(r), Number(w)}); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, fds, err := b.Recv(buf)
	if err != nil || string(buf[:n]) != "hello" || len(fds) != 2 {
		t.Fatal(n, fds, err)
	}
	defer CloseAll(fds)
	if !cloexec(t, fds[0]) || !cloexec(t, fds[1]) {
		t.Error("received descriptors survive an exec")
	}
	if _, err := unix.Write(fds[1], []byte("through")); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(buf); err != nil || string(buf[:n]) != "through" {
		t.Error(string(buf[:n]), err)
	}
}

// TestSendWritesAll sends more than a socket holds.
func TestSendWritesAll(t *testing.T) {
	a, b := pair(t)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<17)
	done := make(chan error, 1)
	go func() { done <- a.Send(want, nil) }()
	var got []byte
	buf := make([]byte, 1<<16)
	for len(got) < len(want) {
		n, fds, err := b.Recv(buf)
		if err != nil || n == 0 || len(fds) != 0 {
			t.Fatal(n, fds, err)
		}
		got = append(got, buf[:n]...)
	}
	if err := <-done; err != nil || !bytes.Equal(got, want) {
		t.Error(err)
	}
}

func TestHangUp(t *testing.T) {
	x, y, err := Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer CloseAll([]int{y})
	if err := (Socket{x}).Close(); err != nil {
		t.Fatal(err)
	}
	if n, fds, err := (Socket{y}).Recv(make([]byte, 1)); n != 0 || fds != nil || err != nil {
		t.Errorf("%d, %v, %v", n, fds, err)
	}
	if err := (Socket{y}).Send([]byte("x"), nil); !errors.Is(err, unix.EPIPE) { // and no SIGPIPE
		t.Error(err)
	}
}

func TestRightsOfOtherControlData(t *testing.T) {
	if fds, err := Rights(nil); fds != nil || err != nil {
		t.Error(fds, err)
	}
	if fds, err := Rights(unix.UnixCredentials(&unix.Ucred{Pid: 1})); len(fds) != 0 || err != nil {
		t.Error(fds, err)
	}
	if Control(nil) != nil {
		t.Error("control data for nothing")
	}
	if _, err := Rights([]byte{1, 2, 3}); err == nil {
		// Shorter than a header is no message at all; what matters is that no
		// descriptor comes out of it.
		if fds, _ := Rights([]byte{1, 2, 3}); len(fds) != 0 {
			t.Error(fds)
		}
	}
}

func TestPeerIsOurselves(t *testing.T) {
	a, _ := pair(t)
	pid, uid, err := Peer(a.FD)
	if err != nil || pid != os.Getpid() || uid != os.Getuid() {
		t.Errorf("%d, %d, %v", pid, uid, err)
	}
	if _, _, err := Peer(-1); err == nil {
		t.Error("a peer of nothing")
	}
}

func TestNumberOfAClosedFile(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if Number(f) < 0 {
		t.Error("an open file has no number")
	}
	f.Close()
	if n := Number(f); n != -1 {
		t.Errorf("a closed file has number %d", n)
	}
	if _, err := Dup(f); err == nil {
		t.Error("a closed file was duplicated")
	}
}

func TestPipe(t *testing.T) {
	for name, input := range map[string]bool{"output": false, "input": true} {
		t.Run(name, func(t *testing.T) {
			ours, theirs, err := Pipe(input)
			if err != nil {
				t.Fatal(err)
			}
			defer ours.Close()
			flags, err := unix.FcntlInt(uintptr(theirs), unix.F_GETFL, 0)
			if err != nil || flags&unix.O_NONBLOCK != 0 {
				t.Errorf("the program's end does not block: %#x, %v", flags, err)
			}
			if !cloexec(t, theirs) || !cloexec(t, Number(ours)) {
				t.Error("an end survives an exec")
			}
			if HungUp(ours) {
				t.Error("hung up with both ends open")
			}
			there := os.NewFile(uintptr(theirs), "theirs")
			from, to := ours, there
			if input {
				from, to = there, ours
			}
			if _, err := to.WriteString("word"); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 10)
			if n, err := from.Read(buf); err != nil || string(buf[:n]) != "word" {
				t.Error(string(buf[:n]), err)
			}
			there.Close()
			if !input && !HungUp(ours) {
				t.Error("the program has closed its end, and it is not noticed")
			}
		})
	}
}

func TestReadNow(t *testing.T) {
	ours, theirs, err := Pipe(false)
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	buf := make([]byte, 10)
	if n, err := ReadNow(ours, buf); n > 0 || !errors.Is(err, unix.EAGAIN) {
		t.Errorf("nothing there: %d, %v", n, err)
	}
	if _, err := unix.Write(theirs, []byte("now")); err != nil {
		t.Fatal(err)
	}
	if n, err := ReadNow(ours, buf); string(buf[:max(n, 0)]) != "now" || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	CloseAll([]int{theirs})
	if n, err := ReadNow(ours, buf); n != 0 || err != nil {
		t.Errorf("at the end: %d, %v", n, err)
	}
	ours.Close()
	if _, err := ReadNow(ours, buf); err == nil {
		t.Error("read from a closed file")
	}
}

// TestDupOutlivesTheOriginal: a second hold reads on when the first is gone.
func TestDupOutlivesTheOriginal(t *testing.T) {
	ours, theirs, err := Pipe(false)
	if err != nil {
		t.Fatal(err)
	}
	dup, err := Dup(ours)
	if err != nil {
		t.Fatal(err)
	}
	defer dup.Close()
	ours.Close()
	if _, err := unix.Write(theirs, []byte("more")); err != nil {
		t.Fatal(err)
	}
	CloseAll([]int{theirs})
	if b, err := io.ReadAll(dup); string(b) != "more" || err != nil {
		t.Error(string(b), err)
	}
}

package fdpass

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPackets(t *testing.T) {
	ours, theirs, err := Packets()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	if !cloexec(t, Number(ours)) || !cloexec(t, theirs) {
		t.Error("the sockets survive an exec")
	}
	large := bytes.Repeat([]byte("x"), 64<<10)
	for _, b := range [][]byte{[]byte("one"), large} {
		if err := Post(ours, b); err != nil {
			t.Fatal(err)
		}
	}
	buf := make([]byte, 128<<10)
	for _, want := range []int{3, len(large)} {
		if n, err := unix.Read(theirs, buf); err != nil || n != want {
			t.Errorf("%d bytes, %v, want %d", n, err, want)
		}
	}
	for err = nil; err == nil; { // it does not wait for room
		err = Post(ours, large)
	}
	if !errors.Is(err, unix.EAGAIN) {
		t.Error(err)
	}
	unix.Close(theirs)
	if err := Post(ours, large); !errors.Is(err, unix.ECONNRESET) && !errors.Is(err, unix.EPIPE) { // the former if something was not read
		t.Error(err)
	}
	ours.Close()
	if err := Post(ours, large); err == nil {
		t.Error("a closed socket sends")
	}
}

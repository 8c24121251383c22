package pid1

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
)

func TestFail(t *testing.T) {
	if err := fail("step", "/x", nil); err != nil {
		t.Errorf("nothing became %v", err)
	}
	err := fail("mount", "/x", fmt.Errorf("deep: %w", unix.EBUSY))
	if !errors.Is(err, unix.EBUSY) || err.Error() != "mount /x: deep: device or resource busy" {
		t.Error(err)
	}
	var e *initproto.Error
	if err := fail("read", "", io.EOF); !errors.As(err, &e) || e.Errno != 0 || errors.Unwrap(e) != nil {
		t.Errorf("%+v", err)
	}
}

// TestNamed: a step's own error keeps its name, any other gets the step's.
func TestNamed(t *testing.T) {
	if named("x", nil) != nil {
		t.Error("nothing became an error")
	}
	own := fail("attach", "/usr", unix.ELOOP)
	if err := named("attach mounts", own); err != own {
		t.Error(err)
	}
	if err := named("pivot root", unix.EINVAL); err.Error() != "pivot root: invalid argument" || !errors.Is(err, unix.EINVAL) {
		t.Error(err)
	}
}

func TestWire(t *testing.T) {
	for _, err := range []error{io.EOF, unix.EIO, initproto.ErrProtocol, fail("x", "y", unix.EPERM), fmt.Errorf("z: %w", fail("x", "y", unix.EPERM))} {
		if e := wire(err); e == nil || e.Step == "" || e.Message == "" {
			t.Errorf("%v: %+v", err, e)
		}
	}
	if e := wire(fmt.Errorf("z: %w", fail("x", "/y", unix.EPERM))); e.Step != "x" || e.Path != "/y" || e.Errno != int(unix.EPERM) {
		t.Errorf("%+v", e)
	}
}

// TestBuilderTrustsNoIndex: descriptors are named by numbers in a message.
func TestBuilderTrustsNoIndex(t *testing.T) {
	b := &builder{fds: []int{7, 8}}
	for index, want := range map[int]int{0: 7, 1: 8} {
		if fd, err := b.fd(index); err != nil || fd != want {
			t.Errorf("%d: %d, %v", index, fd, err)
		}
	}
	for _, index := range []int{-1, 2, 1 << 40} {
		if fd, err := b.fd(index); !errors.Is(err, initproto.ErrProtocol) || fd != -1 {
			t.Errorf("%d: %d, %v", index, fd, err)
		}
	}
}

func TestOptionalFences(t *testing.T) {
	b := &builder{setup: initproto.Setup{Optional: []string{"mask"}}}
	if err := b.optional("seccomp", unix.EPERM); err != unix.EPERM || len(b.missing) != 0 {
		t.Errorf("a fence that must be: %v, %v", err, b.missing)
	}
	if err := b.optional("mask", nil); err != nil || len(b.missing) != 0 {
		t.Errorf("a fence that stands: %v, %v", err, b.missing)
	}
	if err := b.optional("mask", unix.EPERM); err != nil || len(b.missing) != 1 || b.missing[0].Fence != "mask" || b.missing[0].Reason == "" {
		t.Errorf("a fence that may be missing: %v, %v", err, b.missing)
	}
}

// TestHandshakeRefuses: PID 1 does nothing for somebody who does not begin with
// a setup, and ends when nobody is there.
func TestHandshakeRefuses(t *testing.T) {
	for name, m := range map[string]*initproto.Message{
		"another request":  {ID: 1, Op: initproto.OpSpawn},
		"an empty setup":   {ID: 1, Op: initproto.OpSetup},
		"a commit at once": {Op: initproto.OpCommit},
		"nobody":           nil,
	} {
		ours, daemon := conns(t)
		if m != nil {
			if err := daemon.Write(*m); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Shutdown(socketOf(daemon), unix.SHUT_RDWR); err != nil {
			t.Fatal(err)
		}
		want := initproto.ErrProtocol
		if m == nil {
			want = io.EOF
		}
		if err := prepare(ours); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// TestMasksAreAbsolute: a mask that is not would hide something else.
func TestMasksAreAbsolute(t *testing.T) {
	for _, p := range append(maskedPaths(), readonlyPaths()...) {
		if p[0] != '/' || len(p) < 6 {
			t.Errorf("%q", p)
		}
	}
}

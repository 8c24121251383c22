package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/launch/initbin"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/memfd"
	"github.com/coop-dev/coop/internal/sandbox"
)

// program is this test program, which acts as PID 1 under that name.
func program(t *testing.T) *os.File {
	t.Helper()
	code, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	f, err := memfd.Program(initbin.Arg0, code)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// params for a PID 1 that behaves in one way, with the caller's own id.
func params(t *testing.T, behaviour string) Params {
	t.Helper()
	return Params{
		Dir:  t.TempDir(),
		UIDs: idmap.Map{{Outside: uint32(os.Getuid()), Count: 1}},
		GIDs: idmap.Map{{Outside: uint32(os.Getgid()), Count: 1}},
		Mounts: func() ([]*os.File, *initproto.Setup, error) {
			null, err := os.Open(os.DevNull)
			return []*os.File{null}, &initproto.Setup{Hostname: behaviour}, err
		},
	}
}

// noChildren: every process we started has been collected.
func noChildren(t *testing.T) {
	t.Helper()
	var ws unix.WaitStatus
	if pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("child %d is left, %v", pid, err)
	}
}

func need(t *testing.T, err error) {
	t.Helper()
	if sandbox.CodeOf(err) != sandbox.Unavailable || !strings.Contains(err.Error(), "namespaces") {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs user namespaces, which CI must have: %v", err)
	}
	t.Skipf("needs user namespaces: %v", err)
}

func begin(t *testing.T, p Params) *Init {
	t.Helper()
	in, missing, err := Start(t.Context(), program(t), p)
	if err != nil {
		need(t, err)
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Kill(context.Background()) // a test may have done it
		in.Close()
	})
	if len(missing) != 1 || missing[0].Fence != "mask" {
		t.Errorf("missing: %v", missing)
	}
	return in
}

func TestStartAndConnectAgain(t *testing.T) {
	p := params(t, "good")
	p.State.Host = "key"
	in := begin(t, p)
	state, err := ReadState(p.Dir)
	if err != nil || state.PID != in.PID() || state.Host != "key" || state.StartTime == 0 || state.BootID == "" {
		t.Fatalf("%+v, %v", state, err)
	}
	if st, err := os.Stat(filepath.Join(p.Dir, "init.sock")); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("init.sock: %v, %v", st.Mode(), err)
	}
	if list, err := in.Processes(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	next, err := Connect(t.Context(), p.Dir) // another daemon
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if next.PID() != in.PID() || !next.Alive() {
		t.Errorf("pid %d, then %d", in.PID(), next.PID())
	}
	if err := next.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-in.Lost()
	<-next.Lost()
	if in.Alive() || next.Alive() {
		t.Error("alive after its end")
	}
	if _, err := in.Processes(t.Context()); sandbox.CodeOf(err) != sandbox.Unavailable {
		t.Errorf("asking the dead: %v", err)
	}
	if _, err := Connect(t.Context(), p.Dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("connecting to the dead: %v", err)
	}
	noChildren(t)
}

// TestStartFails: whatever PID 1 does, nothing is left of it.
func TestStartFails(t *testing.T) {
	exe := program(t)
	for behaviour, want := range map[string]struct {
		code sandbox.Code
		is   error
	}{
		"refuses":     {sandbox.Unavailable, syscall.EPERM},
		"ends":        {sandbox.Internal, nil},
		"garbage":     {sandbox.Internal, initproto.ErrProtocol},
		"large":       {sandbox.Internal, initproto.ErrProtocol},
		"descriptors": {sandbox.Internal, initproto.ErrProtocol},
		"off topic":   {sandbox.Internal, initproto.ErrProtocol},
	} {
		t.Run(behaviour, func(t *testing.T) {
			before := fds(t)
			in, _, err := Start(t.Context(), exe, params(t, behaviour))
			if err == nil {
				_ = in.Kill(context.Background()) // it should not be there
				in.Close()
				t.Fatal("it became a sandbox")
			}
			need(t, err)
			if sandbox.CodeOf(err) != want.code || (want.is != nil && !errors.Is(err, want.is)) {
				t.Errorf("%v (%s)", err, sandbox.CodeOf(err))
			}
			noChildren(t)
			if after := fds(t); after > before {
				t.Errorf("%d descriptors before, %d after", before, after)
			}
		})
	}
}

// TestStartOfAnythingElse: a program that is no coop-init, and one that is none.
func TestStartOfAnythingElse(t *testing.T) {
	code, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Skipf("needs /bin/true: %v", err)
	}
	for name, code := range map[string][]byte{"true": code, "no program": []byte("x")} {
		exe, err := memfd.Program("x", code)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Start(t.Context(), exe, params(t, "good")); err == nil {
			t.Errorf("%s became a sandbox", name)
		} else {
			need(t, err)
		}
		exe.Close()
		noChildren(t)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := params(t, "mute")
	mounts := p.Mounts
	p.Mounts = func() ([]*os.File, *initproto.Setup, error) {
		defer cancel(cause) // the clone stands; now the caller loses patience
		return mounts()
	}
	if _, _, err := Start(ctx, program(t), p); !errors.Is(err, cause) {
		need(t, err)
		t.Errorf("%v, want the cause", err)
	}
	noChildren(t)
}

func TestStartWithoutMounts(t *testing.T) {
	p := params(t, "good")
	p.Mounts = func() ([]*os.File, *initproto.Setup, error) { return nil, nil, syscall.ENOSPC }
	if _, _, err := Start(t.Context(), program(t), p); !errors.Is(err, syscall.ENOSPC) {
		need(t, err)
		t.Error(err)
	}
	noChildren(t)
	p = params(t, "good")
	p.Around = func(func() error) error { return syscall.EBUSY } // the groups cannot be entered
	if _, _, err := Start(t.Context(), program(t), p); !errors.Is(err, syscall.EBUSY) {
		t.Error(err)
	}
	p = params(t, "good")
	p.Around = func(clone func() error) error { return errors.Join(clone(), syscall.EBUSY) } // or not be left
	if _, _, err := Start(t.Context(), program(t), p); !errors.Is(err, syscall.EBUSY) {
		t.Error(err)
	}
	noChildren(t)
}

// TestLongPaths: a unix address holds 107 bytes, a home may lie deeper.
func TestLongPaths(t *testing.T) {
	p := params(t, "good")
	p.Dir = filepath.Join(p.Dir, strings.Repeat("d", 120), strings.Repeat("e", 120))
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	begin(t, p)
	in, err := Connect(t.Context(), p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
}

func TestExplain(t *testing.T) {
	for errno, want := range map[syscall.Errno]sandbox.Code{
		syscall.EPERM: sandbox.Unavailable, syscall.EACCES: sandbox.Unavailable, syscall.ENOSPC: sandbox.Exhausted,
		syscall.EUSERS: sandbox.Exhausted, syscall.EAGAIN: sandbox.Exhausted, syscall.ENOMEM: sandbox.Exhausted,
		syscall.EINVAL: sandbox.Internal,
	} {
		err := explainClone(fmt.Errorf("clone: %w", errno))
		if sandbox.CodeOf(err) != want || !errors.Is(err, errno) {
			t.Errorf("%v: %v", errno, err)
		}
	}
	for _, step := range []string{"mount proc", "mount sys", "pivot root"} {
		err := explainSetup(&initproto.Error{Step: step, Errno: int(syscall.EPERM)})
		var e *sandbox.Error
		if !errors.As(err, &e) || e.Code != sandbox.Unavailable || e.Hint == "" || e.Details["step"] != step || !errors.Is(err, syscall.EPERM) {
			t.Errorf("%s: %+v", step, err)
		}
	}
}

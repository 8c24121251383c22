package pidfd

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// sleeper is a child that lives until its input ends or it is killed.
func sleeper(t *testing.T) (*exec.Cmd, io.Closer) {
	t.Helper()
	cmd := exec.Command("/bin/cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // somebody may have collected it
	})
	return cmd, in
}

func open(t *testing.T, pid int) *Process {
	t.Helper()
	p, err := Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestWaitCollectsAChild(t *testing.T) {
	cmd, in := sleeper(t)
	p := open(t, cmd.Process.Pid)
	if !p.Alive() {
		t.Fatal("dead from the start")
	}
	in.Close()
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.Alive() {
		t.Error("alive after its end")
	}
	if _, err := StartTime(p.PID); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a zombie is left: %v", err)
	}
	if err := p.Wait(t.Context()); err != nil {
		t.Errorf("waiting twice: %v", err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("killing the dead: %v", err)
	}
}

func TestKill(t *testing.T) {
	cmd, _ := sleeper(t)
	p := open(t, cmd.Process.Pid)
	done := make(chan error, 3) // many may wait
	for range cap(done) {
		go func() { done <- p.Wait(t.Context()) }()
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// TestWaitForAStranger waits for a process that is not our child.
func TestWaitForAStranger(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "cat <&3 >/dev/null 2>&1 & echo $!")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd.ExtraFiles = []*os.File{r}
	out, err := cmd.Output()
	r.Close()
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for _, c := range strings.TrimSpace(string(out)) {
		pid = pid*10 + int(c-'0')
	}
	p := open(t, pid)
	if !p.Alive() {
		t.Fatal("dead from the start")
	}
	w.Close()
	if err := p.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	cmd, _ := sleeper(t)
	before := runtime.NumGoroutine()
	p := open(t, cmd.Process.Pid)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Wait(ctx) }()
	cancel(cause)
	if err := <-done; !errors.Is(err, cause) {
		t.Errorf("%v, want the cause", err)
	}
	if err := p.Wait(ctx); !errors.Is(err, cause) {
		t.Errorf("with a context that has ended: %v", err)
	}
	if !p.Alive() {
		t.Error("the process did not survive that we stopped waiting")
	}
	for runtime.NumGoroutine() > before { // those that end need a moment on a processor
		if t.Context().Err() != nil {
			t.Fatal("a goroutine still waits")
		}
		runtime.Gosched()
	}
}

func TestClosedHandle(t *testing.T) {
	cmd, _ := sleeper(t)
	p := open(t, cmd.Process.Pid)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if p.Alive() {
		t.Error("alive through a closed handle")
	}
	if err := p.Kill(); err == nil {
		t.Error("killed through a closed handle")
	}
	if err := p.Wait(t.Context()); err == nil {
		t.Error("waited through a closed handle")
	}
	if err := unix.Kill(cmd.Process.Pid, 0); err != nil {
		t.Errorf("closing ended the process: %v", err)
	}
}

func TestOpenNobody(t *testing.T) {
	for _, pid := range []int{-1, 0, 1 << 30} {
		if p, err := Open(pid); err == nil {
			p.Close()
			t.Errorf("pid %d is somebody", pid)
		}
	}
	if _, err := FromFD(1, -1); err == nil {
		t.Error("no descriptor is a process")
	}
}

func TestFromFD(t *testing.T) {
	cmd, in := sleeper(t)
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := FromFD(cmd.Process.Pid, fd)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	in.Close()
	if err := p.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestStartTime tells processes apart, also one whose name looks like the rest
// of the line.
func TestStartTime(t *testing.T) {
	mine, err := StartTime(os.Getpid())
	if err != nil || mine == 0 {
		t.Fatal(mine, err)
	}
	if again, err := StartTime(os.Getpid()); err != nil || again != mine {
		t.Errorf("%d, then %d, %v", mine, again, err)
	}
	runtime.LockOSThread() // the name below is this thread's; the thread ends with it
	if err := os.WriteFile("/proc/thread-self/comm", []byte(") Z 1 2 3 (x)"), 0); err != nil {
		t.Fatal(err)
	}
	odd, err := StartTime(unix.Gettid())
	if err != nil || odd < mine {
		t.Errorf("a thread with an odd name began at %d (we at %d), %v", odd, mine, err)
	}
	if _, err := StartTime(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestBootID(t *testing.T) {
	a, err := BootID()
	if err != nil || len(a) != 36 || strings.TrimSpace(a) != a {
		t.Errorf("%q, %v", a, err)
	}
	if b, _ := BootID(); a != b {
		t.Errorf("%q and %q", a, b)
	}
}

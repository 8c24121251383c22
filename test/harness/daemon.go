package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/linux/pidfd"
)

// Client talks to the daemon and starts it when there is none, as every coop
// command does.
func (h Instance) Client(t testing.TB) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{Socket: h.Socket(), Dial: h.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (h Instance) dial(ctx context.Context, socket string) (net.Conn, error) {
	conn, err := client.DialUnix(ctx, socket)
	if !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ECONNREFUSED) {
		return conn, err
	}
	if err := h.Command(ctx, "ls", "-q").Run(); err != nil {
		return nil, err
	}
	return client.DialUnix(ctx, socket)
}

// StartDaemon sees to it that the daemon answers.
func (h Instance) StartDaemon(t testing.TB) {
	t.Helper()
	if r := h.Coop(t, "ls", "-q"); r.Code != 0 {
		t.Fatalf("start the daemon: %s", r.Stderr)
	}
}

// Mode is "root", "user" or "user-single-id", as the daemon of the shared home
// says; a daemon that cannot say it makes every test pointless.
func Mode() string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h := Shared()
	out, err := h.Command(ctx, "ls", "-q").CombinedOutput() // starts it
	if err == nil {
		out, err = h.Command(ctx, "--json", "version").Output()
	}
	var v struct{ Daemon struct{ Mode string } }
	if err == nil {
		err = json.Unmarshal(out, &v)
	}
	if err != nil || v.Daemon.Mode == "" {
		panic(fmt.Sprintf("mode of the daemon: %v: %s", err, out))
	}
	return v.Daemon.Mode
}

// DaemonPID reads daemon.pid.
func (h Instance) DaemonPID(t testing.TB) int {
	t.Helper()
	pid, err := h.daemonPID()
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func (h Instance) daemonPID() (int, error) {
	b, err := os.ReadFile(filepath.Join(h.Dir, "daemon.pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

// daemon holds the daemon's process, or os.ErrProcessDone when there is none:
// daemon.pid outlives its daemon, and its number may be another's by now.
func (h Instance) daemon() (*pidfd.Process, error) {
	pid, err := h.daemonPID()
	if err != nil {
		return nil, errors.Join(os.ErrProcessDone, err)
	}
	p, err := pidfd.Open(pid)
	if err != nil {
		return nil, errors.Join(os.ErrProcessDone, err)
	}
	found, ok := readProcess(pid)
	if !ok || !strings.HasPrefix(found.cmdline, "coop-daemon ") || !strings.Contains(found.cmdline, h.Dir) {
		_ = p.Close()
		return nil, os.ErrProcessDone
	}
	return p, nil
}

// KillDaemon kills the daemon with SIGKILL and returns when it is gone.
func (h Instance) KillDaemon(t testing.TB) {
	t.Helper()
	p, err := h.daemon()
	if err != nil {
		t.Fatalf("kill the daemon: %v", err)
	}
	defer p.Close()
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	WaitGone(t, p)
}

// WaitGone waits for the end of a process.
func WaitGone(t testing.TB, p *pidfd.Process) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		t.Fatalf("process %d is still there: %v", p.PID, err)
	}
}

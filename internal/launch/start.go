package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/launch/initbin"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/pidfd"
	"github.com/coop-dev/coop/internal/linux/spawn"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Params is what Start needs beside the setup message.
type Params struct {
	Dir      string // the sandbox's directory: init.sock and state.json go there
	UIDs     idmap.Map
	GIDs     idmap.Map
	Groups   bool
	CgroupFD *os.File // cgroup2 directory to be born in, or nil
	// Around runs the clone on a thread that is in the sandbox's other groups,
	// so that the child is born in them; nil runs it as it is.
	Around func(clone func() error) error
	State  State // completed with the process and written
	Setup  initproto.Setup
	// Mounts makes the detached mounts while the child starts, and the setup
	// message that refers to them by index.
	Mounts func() ([]*os.File, *initproto.Setup, error)
}

// Start clones PID 1 and takes it through the handshake. ctx bounds it.
func Start(ctx context.Context, program *os.File, p Params) (*Init, []initproto.Missing, error) {
	sock := filepath.Join(p.Dir, "init.sock")
	listener, err := listen(sock)
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	ours, theirs, err := fdpass.Pair()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	child := os.NewFile(uintptr(theirs), "init")
	proc, err := clone(program, p, child, listener)
	child.Close()
	if err != nil {
		fdpass.CloseAll([]int{ours})
		return nil, nil, explainClone(err)
	}
	conn, err := newSocket(ours)
	if err != nil {
		end(proc)
		return nil, nil, err
	}
	missing, err := handshake(ctx, conn, proc, p)
	if err != nil {
		conn.Close()
		end(proc)
		return nil, nil, err
	}
	in := newInit(proc, conn)
	return in, missing, nil
}

// listen binds init.sock through a descriptor of its directory: a unix address
// holds 107 bytes, a path under COOP_HOME may be longer.
func listen(path string) (*os.File, error) {
	_ = os.Remove(path) // one left by an earlier run of this sandbox
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	addr := &net.UnixAddr{Net: "unix", Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))}
	l, err := net.ListenUnix("unix", addr)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	l.SetUnlinkOnClose(false) // PID 1 goes on listening
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, err
	}
	f, err := l.File()
	if err != nil {
		return nil, err
	}
	// File leaves the descriptor blocking, as PID 1 wants it.
	return f, nil
}

func clone(program *os.File, p Params, child, listener *os.File) (proc *pidfd.Process, err error) {
	config := spawn.Config{
		Program: program, Argv: []string{initbin.Arg0},
		Env:   []string{"GOMAXPROCS=2", "GOGC=50", "GODEBUG=asyncpreemptoff=1"},
		Files: []*os.File{child, listener},
		UIDs:  p.UIDs, GIDs: p.GIDs, Groups: p.Groups,
		Net: p.Setup.OwnNet, PIDs: true, CgroupFD: p.CgroupFD,
		Setsid: true, // not in our session: its autogroup's share is ours otherwise
	}
	start := func() (err error) {
		proc, err = spawn.Start(config)
		return err
	}
	around := p.Around
	if around == nil {
		around = func(clone func() error) error { return clone() }
	}
	err = around(start)
	if err != nil && proc != nil { // cloned, but the thread could not come back
		end(proc)
	}
	return proc, err
}

// handshakeTime is generous: on an idle machine it takes two milliseconds.
const handshakeTime = 30 * time.Second

// handshake is the first table of package initproto.
func handshake(ctx context.Context, conn socket, proc *pidfd.Process, p Params) ([]initproto.Missing, error) {
	mounts, setup, err := p.Mounts() // copying a large project takes minutes
	defer closeFiles(mounts)
	if err != nil {
		return nil, err
	}
	if err := conn.conn.SetDeadline(time.Now().Add(handshakeTime)); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c := &initproto.Conn{Socket: conn, Max: initproto.MaxFromInit}
	if err := c.Write(initproto.Message{ID: 1, Op: initproto.OpSetup, Setup: setup}, fdsOf(mounts)...); err != nil {
		return nil, stepError(ctx, "send setup", err)
	}
	if err := noteState(proc, p); err != nil { // while PID 1 works
		return nil, err
	}
	m, fds, err := c.Read()
	fdpass.CloseAll(fds)
	if err != nil {
		return nil, stepError(ctx, "wait for PID 1", err)
	}
	if m.Error != nil {
		return nil, explainSetup(m.Error)
	}
	if m.Op != initproto.OpReady || m.Ready == nil {
		return nil, initproto.ErrProtocol
	}
	if err := c.Write(initproto.Message{Op: initproto.OpCommit}); err != nil {
		return nil, stepError(ctx, "commit", err)
	}
	if !stop() { // cancelled: the deadline may pass at any moment from now on
		return nil, context.Cause(ctx)
	}
	return m.Ready.Degraded, conn.conn.SetDeadline(time.Time{})
}

// noteState writes state.json before PID 1 is told to outlive us: a daemon that
// dies earlier takes it along, one that dies after can find it.
func noteState(proc *pidfd.Process, p Params) error {
	s := p.State
	s.PID = proc.PID
	var err error
	if s.StartTime, err = pidfd.StartTime(proc.PID); err != nil {
		return err
	}
	if s.BootID, err = pidfd.BootID(); err != nil {
		return err
	}
	return WriteState(p.Dir, s)
}

func stepError(ctx context.Context, step string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return sandbox.Errorf(sandbox.Internal, "%s: %w", step, err).
		WithHint("PID 1 of the sandbox ended or did not answer; see daemon.log and coop doctor")
}

// end kills a PID 1 that did not become a sandbox and waits until it is gone.
func end(proc *pidfd.Process) {
	_ = proc.Kill()                     // it may have ended by itself
	_ = proc.Wait(context.Background()) // SIGKILL always comes through
	_ = proc.Close()
}

func fdsOf(files []*os.File) []int {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	return fds
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// explainClone gives the refusals of clone a way out.
func explainClone(err error) error {
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return sandbox.Errorf(sandbox.Unavailable, "new namespaces are refused: %w", err).
			WithHint("coop doctor says why and what to do")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EUSERS):
		return sandbox.Errorf(sandbox.Exhausted, "no more namespaces: %w", err).
			WithHint("raise user.max_user_namespaces and the other limits in /proc/sys/user, or remove sandboxes")
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return sandbox.Errorf(sandbox.Exhausted, "no more processes: %w", err).
			WithHint("the host's process or memory limit is reached; remove sandboxes")
	}
	return err
}

// explainSetup turns a step that failed inside into an error people can use.
func explainSetup(e *initproto.Error) error {
	out := sandbox.Errorf(sandbox.Unavailable, "set-up: %w", e).WithDetail("step", e.Step)
	switch {
	case e.Step == "mount proc" || e.Step == "mount sys":
		return out.WithHint("a container whose /proc or /sys is partly hidden does not let sandboxes have their own; run coop doctor")
	case e.Errno == int(syscall.ENOSPC):
		return out.WithHint("free some space where COOP_HOME is")
	}
	return out.WithHint("run coop doctor")
}

// Package pidfd holds processes by descriptor: a pid can be given to another
// process, a pidfd cannot. Waiting parks a goroutine, not a thread.
package pidfd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Process is one process, alive or not.
type Process struct {
	PID  int
	file *os.File
}

// Open finds a process by its number. It need not be a child.
func Open(pid int) (*Process, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("pidfd_open", err)
	}
	return &Process{PID: pid, file: os.NewFile(uintptr(fd), "pidfd")}, nil
}

// FromFD takes over a descriptor that clone gave.
func FromFD(pid, fd int) (*Process, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("pidfd nonblock", err)
	}
	return &Process{PID: pid, file: os.NewFile(uintptr(fd), "pidfd")}, nil
}

// Kill sends SIGKILL. A process that has ended already is no error.
func (p *Process) Kill() error {
	rc, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	var kerr error
	if err := rc.Control(func(fd uintptr) { kerr = unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) }); err != nil {
		return err
	}
	if errors.Is(kerr, unix.ESRCH) {
		return nil
	}
	return os.NewSyscallError("pidfd_send_signal", kerr)
}

// Wait returns when the process has ended, and collects it if it is our child.
func (p *Process) Wait(ctx context.Context) error {
	rc, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	if err := p.file.SetReadDeadline(time.Time{}); err != nil { // an earlier wait may have been cut short
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.file.SetReadDeadline(past) })
	defer stop()
	err = rc.Read(func(fd uintptr) bool { return ended(int(fd)) })
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Alive reports whether the process still runs.
func (p *Process) Alive() bool {
	rc, err := p.file.SyscallConn()
	if err != nil {
		return false
	}
	alive := false
	_ = rc.Control(func(fd uintptr) { alive = !ended(int(fd)) }) // a closed handle means: not ours any more
	return alive
}

// ended asks without waiting; a child is collected, anybody else only looked at.
func ended(fd int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PIDFD, fd, &info, unix.WEXITED|unix.WNOHANG, nil)
	if err == nil && info.Signo != 0 {
		return true
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, _ := unix.Poll(poll, 0) // an interrupted look is followed by another
	return n > 0
}

// Close lets go of the process.
func (p *Process) Close() error { return p.file.Close() }

// StartTime is the moment a process began, in clock ticks since boot; with the
// pid and the boot id it names a process for ever.
func StartTime(pid int) (uint64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) < 20 {
		return 0, fmt.Errorf("unreadable /proc/%d/stat", pid)
	}
	return strconv.ParseUint(f[19], 10, 64)
}

// BootID names this boot of the machine.
func BootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(b)), err
}

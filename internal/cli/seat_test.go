package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

// seat is a person at a real terminal: the test holds the keyboard and sees the
// screen, coop runs as a process of its own on the other side.
type seat struct {
	master, slave *os.File
	before        unix.Termios

	mu     sync.Mutex
	seen   bytes.Buffer
	change chan struct{} // closed and replaced when seen grows
	read   sync.WaitGroup

	cmd   *exec.Cmd
	ended chan struct{}
}

// deadline is for a machine on which everything else runs too.
const deadline = 60 * time.Second

func newSeat(t *testing.T) *seat {
	t.Helper()
	s := &seat{change: make(chan struct{})}
	s.master, s.slave = openPTY(t)
	s.resize(t, 80, 24)
	s.before = s.termios(t)
	s.read.Go(s.watch)
	t.Cleanup(func() {
		s.slave.Close()
		s.master.Close()
		s.read.Wait()
	})
	return s
}

// openPTY gives both sides of a pseudo terminal, pts(4).
func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	master = os.NewFile(uintptr(fd), "ptmx") // pollable, so that Close wakes a read
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	fd, err = unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, os.NewFile(uintptr(fd), "pts")
}

func (s *seat) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.seen.Write(buf[:n])
		close(s.change)
		s.change = make(chan struct{})
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (s *seat) resize(t *testing.T, cols, rows uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(s.slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows}); err != nil {
		t.Fatal(err)
	}
}

func (s *seat) termios(t *testing.T) unix.Termios {
	t.Helper()
	v, err := unix.IoctlGetTermios(int(s.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *v
}

func (s *seat) isRaw(t *testing.T) bool { return s.termios(t).Lflag&unix.ICANON == 0 }

// screen is everything that was shown so far.
func (s *seat) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// await waits until text was shown, and gives what was shown after it.
func (s *seat) await(t *testing.T, text string) string {
	t.Helper()
	late := time.After(deadline)
	for {
		s.mu.Lock()
		_, after, ok := strings.Cut(s.seen.String(), text)
		change := s.change
		s.mu.Unlock()
		if ok {
			return after
		}
		select {
		case <-change:
		case <-late:
			t.Fatalf("%q was not shown, but %q", text, s.screen())
		}
	}
}

func (s *seat) typing(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(s.master, text); err != nil {
		t.Fatal(err)
	}
}

// coop starts coop as the leader of a session on this terminal.
func (s *seat) coop(t *testing.T, d *fakedaemon.Daemon, args ...string) {
	t.Helper()
	s.start(t, d, &syscall.SysProcAttr{Setsid: true, Setctty: true}, nil, args...)
}

func (s *seat) start(t *testing.T, d *fakedaemon.Daemon, sys *syscall.SysProcAttr, env []string, args ...string) {
	t.Helper()
	d.Settle()
	s.cmd = exec.Command(os.Args[0], args...)
	s.cmd.Env = append(append(os.Environ(), beCoop+"=1", "COOP_HOME="+d.Home, "TERM=xterm-256color"), env...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.slave, s.slave, s.slave
	s.cmd.SysProcAttr = sys
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func(cmd *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		_ = cmd.Wait() // the status is in ProcessState
	}(s.cmd, s.ended)
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // most have ended
		<-s.ended
	})
}

// exit waits for coop's end; the terminal must be as it was.
func (s *seat) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-s.ended:
	case <-time.After(deadline):
		t.Fatalf("coop does not end; %q", s.screen())
	}
	if got := s.termios(t); got != s.before {
		t.Errorf("the terminal is not as it was: %+v, was %+v", got, s.before)
	}
	const last = "<the last thing shown>"
	if _, err := io.WriteString(s.slave, last); err != nil {
		t.Fatal(err)
	}
	s.await(t, last) // and all that coop wrote was seen before it
	if status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return s.cmd.ProcessState.ExitCode()
}

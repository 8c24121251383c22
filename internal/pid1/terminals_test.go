package pid1

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/pty"
	"github.com/coop-dev/coop/internal/linux/ring"
)

// onTerminal puts a program of the test on a terminal, as startOn does but
// without fences and reaper: the test tells of the program's end.
func onTerminal(t *testing.T, in *Init, number int, id, script string) (*run, *exec.Cmd) {
	t.Helper()
	term, err := in.terminalFor(number)
	if err != nil {
		t.Fatal(err)
	}
	master, slave, err := pty.Open(multiplexer)
	if err != nil {
		t.Skipf("needs a devpts: %v", err)
	}
	r := &run{terminal: term, master: master, since: time.Now()}
	r.exec = &execution{id: id, note: "note of " + id, stdin: -1, run: r}
	tty := os.NewFile(uintptr(slave), "tty")
	defer tty.Close()
	c := exec.Command("/bin/sh", "-c", script)
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r.exec.pid = c.Process.Pid
	if err := in.pump.add(term, master); err != nil {
		t.Fatal(err)
	}
	in.mu.Lock()
	in.execs[id] = r.exec
	in.mu.Unlock()
	in.enter(r)
	t.Cleanup(func() { _ = c.Process.Kill() })
	return r, c
}

// gone waits for the program as the reaper does.
func gone(t *testing.T, in *Init, r *run, c *exec.Cmd) {
	t.Helper()
	_ = c.Wait() // its status is what we look at
	in.mu.Lock()
	defer in.mu.Unlock()
	r.exec.status = &initproto.Status{Code: c.ProcessState.ExitCode()}
	r.leave()
}

// reader is the daemon's side.
func reader(t *testing.T, in *Init, number int) *ring.Reader {
	t.Helper()
	fds, err := in.adoptTerminal(number)
	if err != nil {
		t.Fatal(err)
	}
	fdpass.CloseAll(fds[ring.FDs:])
	r, err := ring.Open(fds[:ring.FDs])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// finished waits until hello tells of the end.
func finished(t *testing.T, in *Init, daemon *initproto.Conn) initproto.Message {
	t.Helper()
	for {
		m, fds, err := daemon.Read()
		fdpass.CloseAll(fds)
		if err != nil {
			t.Fatal(err)
		}
		if m.Op == initproto.OpExited {
			return m
		}
	}
}

func emptyTable(t *testing.T) (*Init, *initproto.Conn) {
	t.Helper()
	in, err := newInit(initproto.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	ours, daemon := conns(t)
	in.setConn(ours)
	return in, daemon
}

// TestEndComesAfterTheOutput: the end of a program is told when all it wrote is
// in the ring, and the terminal then takes another program at the same offset.
func TestEndComesAfterTheOutput(t *testing.T) {
	in, daemon := emptyTable(t)
	r, c := onTerminal(t, in, 2, "first", "stty -opost; head -c 60000 /dev/zero | tr '\\0' a; exit 3")
	if _, err := in.terminalFor(2); !errors.Is(err, unix.EBUSY) {
		t.Errorf("a second program at once: %v", err)
	}
	if err := in.forgetTerminal(2); !errors.Is(err, unix.EBUSY) {
		t.Errorf("forgotten while it runs: %v", err)
	}
	if h := in.hello(); len(h.Terminals) != 1 || h.Terminals[0].Status != nil || h.NextTerminal != 3 || len(h.Execs) != 0 {
		t.Errorf("%+v", h)
	}
	rd := reader(t, in, 2)
	gone(t, in, r, c)
	m := finished(t, in, daemon)
	if m.Exec != "first" || m.Status.Code != 3 || m.Status.End != 60000 {
		t.Errorf("%+v %+v", m, m.Status)
	}
	if _, to, err := rd.Kept(); err != nil || to != 60000 {
		t.Errorf("%d bytes, %v", to, err)
	}
	if h := in.hello(); h.Terminals[0].Status == nil || h.Terminals[0].Note != "note of first" {
		t.Errorf("%+v", h.Terminals[0])
	}
	in.acknowledge("first") // which is not how terminals are let go of
	r, c = onTerminal(t, in, 2, "second", "printf more")
	gone(t, in, r, c)
	if m := finished(t, in, daemon); m.Exec != "second" || m.Status.End != 60004 {
		t.Errorf("%+v %+v", m, m.Status)
	}
	if in.execs["first"] != nil {
		t.Error("the first program is still in the table")
	}
	before := fds(t)
	if err := in.forgetTerminal(2); err != nil {
		t.Error(err)
	}
	if err := in.forgetTerminal(2); err != nil {
		t.Error("twice:", err)
	}
	if after := fds(t); after != before-ring.FDs {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if h := in.hello(); len(h.Terminals) != 0 || h.NextTerminal != 3 || len(in.execs) != 0 {
		t.Errorf("%+v", h)
	}
	if _, err := in.adoptTerminal(2); !errors.Is(err, unix.ESRCH) {
		t.Error(err)
	}
}

// TestFullRingStopsTheProgram: with nobody who stores it a program gets a
// megabyte further and then waits; nothing of it is lost.
func TestFullRingStopsTheProgram(t *testing.T) {
	in, daemon := emptyTable(t)
	const total = 3 << 20
	r, c := onTerminal(t, in, 0, "e", "stty -opost; head -c 3145728 /dev/zero | tr '\\0' b; exit 0")
	rd := reader(t, in, 0)
	for { // until the ring is full
		_, to, err := rd.Kept()
		if err != nil {
			t.Fatal(err)
		}
		if to == ring.Size {
			break
		}
		if err := rd.Wait(to); err != nil {
			t.Fatal(err)
		}
	}
	rd.Close() // that daemon is gone
	rd = reader(t, in, 0)
	done := make(chan struct{})
	go func() { defer close(done); gone(t, in, r, c) }()
	buf := make([]byte, 100000)
	off := uint64(0)
	for off < total {
		n, err := rd.ReadNow(buf, off)
		if errors.Is(err, io.EOF) {
			err = rd.Wait(off)
		}
		if err != nil {
			t.Fatal(err)
		}
		if s := string(buf[:n]); strings.Trim(s, "b") != "" {
			t.Fatal("something else came out")
		}
		off += uint64(n)
		rd.Ack(off)
	}
	<-done
	if m := finished(t, in, daemon); m.Status.End != total {
		t.Errorf("%+v", m.Status)
	}
}

// TestBackgroundWriterDoesNotHoldTheEndUp: a process that is left on the terminal
// and goes on writing for ever is not the program.
func TestBackgroundWriterDoesNotHoldTheEndUp(t *testing.T) {
	in, daemon := emptyTable(t)
	ready := filepath.Join(t.TempDir(), "ready")
	r, c := onTerminal(t, in, 0, "e", "trap '' HUP; (echo >"+ready+"; exec yes) & while ! test -e "+ready+"; do :; done; exit 6")
	rd := reader(t, in, 0)
	stop := make(chan struct{})
	go func() { // a daemon that stores everything at once
		defer close(stop)
		for {
			_, to, err := rd.Kept()
			if err != nil {
				return
			}
			rd.Ack(to)
			if rd.Wait(to) != nil {
				return
			}
		}
	}()
	gone(t, in, r, c)
	if m := finished(t, in, daemon); m.Status.Code != 6 {
		t.Errorf("%+v", m.Status)
	}
	rd.Close()
	<-stop
}

// TestClosedAndOpenedAgain: a program that closes its terminal and comes back has
// not ended.
func TestClosedAndOpenedAgain(t *testing.T) {
	in, daemon := emptyTable(t)
	r, c := onTerminal(t, in, 0, "e", "T=$(tty); exec 0<&- 1>&- 2>&-; exec 1>$T; echo back; exit 0")
	gone(t, in, r, c)
	if m := finished(t, in, daemon); m.Status.End != uint64(len("back\r\n")) {
		t.Errorf("%+v", m.Status)
	}
}

func TestTerminalsAreGivenToTheirUser(t *testing.T) {
	master, slave, err := pty.Open(multiplexer)
	if err != nil {
		t.Skipf("needs a devpts: %v", err)
	}
	defer fdpass.CloseAll([]int{master, slave})
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	if err := pty.Give(slave, 1234, 99); err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(slave, &st); err != nil || st.Uid != 1234 || st.Gid != 5 || st.Mode&0o777 != 0o620 {
		t.Errorf("%+v, %v", st, err)
	}
	if err := pty.SetSize(master, 80, 24); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/dev/null", "/dev/tty", "/etc/passwd", "/dev/ptmx"} {
		m, s, err := pty.Open(path)
		if err == nil {
			fdpass.CloseAll([]int{m, s})
			if path != "/dev/ptmx" { // a link here, a node elsewhere
				t.Errorf("%s opened as a terminal", path)
			}
		}
	}
}

func TestLoginShell(t *testing.T) {
	if s := loginShell(0); s != "" && executable(s) != nil {
		t.Error(s)
	}
	if s := loginShell(1<<32 - 5); s != "" && s != "/bin/bash" {
		t.Errorf("somebody without an entry has %q", s)
	}
}

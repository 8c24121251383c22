package pid1

import (
	"errors"
	"io"
	"os"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/stub"
)

// spareEnds are the daemon's ends of a spare.
type spareEnds struct {
	pid                          int
	talk, report, stdout, stderr *os.File
	note                         *os.File
}

func (s *spareEnds) close() {
	for _, f := range []*os.File{s.talk, s.report, s.stdout, s.stderr, s.note} {
		f.Close()
	}
}

// tell makes it a program, as the daemon does.
func (s *spareEnds) tell(t *testing.T, note string, x stub.Exec) {
	t.Helper()
	if _, err := s.note.WriteString(note); err != nil {
		t.Fatal(err)
	}
	m, ok := x.Message()
	if !ok {
		t.Fatal("no room")
	}
	if err := fdpass.Post(s.talk, m); err != nil {
		t.Fatal(err)
	}
}

// askSpare sends a request for one, under the given id.
func askSpare(t *testing.T, in *Init, ours, daemon *initproto.Conn, id string) (*spareEnds, initproto.Message) {
	t.Helper()
	if !stub.Supported {
		t.Skip("no stub for this machine")
	}
	s := &spareEnds{}
	var give [5]int
	var err error
	if s.talk, give[0], err = fdpass.Packets(); err != nil {
		t.Fatal(err)
	}
	for i, f := range []**os.File{&s.report, &s.stdout, &s.stderr} {
		if *f, give[i+1], err = fdpass.Pipe(false); err != nil {
			t.Fatal(err)
		}
	}
	if s.note, give[4], err = fdpass.Pipe(true); err != nil {
		t.Fatal(err)
	}
	defer fdpass.CloseAll(give[:])
	fds := append(give[:], fdpass.Number(s.stdout), fdpass.Number(s.stderr))
	if err := daemon.Write(initproto.Message{ID: 3, Op: initproto.OpSpare, Exec: id}, fds...); err != nil {
		t.Fatal(err)
	}
	if !in.receive(ours) {
		t.Fatal("it hung up")
	}
	m, _, err := daemon.Read()
	if err != nil || m.ID != 3 || m.Op != initproto.OpSpare {
		t.Fatalf("%+v, %v", m, err)
	}
	s.pid = m.PID
	return s, m
}

// alone is an Init without programs.
func alone(t *testing.T) *Init {
	t.Helper()
	in := table(t)
	for id, e := range in.execs {
		e.release()
		delete(in.execs, id)
	}
	return in
}

// collected waits for the end of a child and lets PID 1 collect it.
func collected(t *testing.T, in *Init, pid int) {
	t.Helper()
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.collect()
	for _, e := range in.watched {
		unix.Close(e.pidfd)
	}
	in.watched = nil
}

func TestSpareBecomesAnExec(t *testing.T) {
	in := alone(t)
	ours, daemon := conns(t)
	before := fds(t)
	s, m := askSpare(t, in, ours, daemon, "x")
	if m.Error != nil || m.PID <= 0 {
		t.Fatalf("%+v", m)
	}
	if h := in.hello(); len(h.Execs) != 0 {
		t.Errorf("a spare is told as an exec: %+v", h.Execs)
	}
	if slices.ContainsFunc(in.processes(), func(p initproto.Process) bool { return p.PID == s.pid }) {
		t.Error("a spare is listed as a process")
	}
	s.tell(t, "noted", stub.Exec{Dir: "/", Files: []string{"/bin/sh"}, Argv: []string{"sh", "-c", "echo out; exit 3"}})
	in.setConn(ours)
	for range 2 { // twice is once
		if err := daemon.Write(initproto.Message{Op: initproto.OpUsed, Exec: "x"}); err != nil || !in.receive(ours) {
			t.Fatal(err)
		}
	}
	collected(t, in, s.pid)
	if m, _, err := daemon.Read(); err != nil || m.Op != initproto.OpExited || m.Exec != "x" || *m.Status != (initproto.Status{Code: 3}) {
		t.Errorf("%+v, %v", m, err)
	}
	if h := in.hello(); len(h.Execs) != 1 || h.Execs[0].Note != "noted" || h.Execs[0].Status.Code != 3 {
		t.Errorf("%+v", h.Execs)
	}
	if b, err := io.ReadAll(s.stdout); err != nil || string(b) != "out\n" {
		t.Errorf("%q, %v", b, err)
	}
	in.acknowledge("x")
	s.close()
	in.stub.Close()
	if after := fds(t); after > before || len(in.execs) != 0 {
		t.Errorf("%d descriptors before, %d after, %d execs", before, after, len(in.execs))
	}
}

// TestSpareOfADeadDaemon: what a daemon leaves depends on how far it came.
func TestSpareOfADeadDaemon(t *testing.T) {
	for name, c := range map[string]struct {
		note string
		told bool
		left []initproto.Exec
	}{
		"before the note":        {},
		"after the note":         {note: "n", left: []initproto.Exec{{ID: "x", Note: "n", Status: &initproto.Status{Code: 126}}}},
		"after telling the stub": {note: "n", told: true, left: []initproto.Exec{{ID: "x", Note: "n", Status: &initproto.Status{Code: 7}}}},
	} {
		t.Run(name, func(t *testing.T) {
			in := alone(t)
			ours, daemon := conns(t)
			s, _ := askSpare(t, in, ours, daemon, "x")
			switch {
			case c.told:
				s.tell(t, c.note, stub.Exec{Dir: "/", Files: []string{"/bin/sh"}, Argv: []string{"sh", "-c", "exit 7"}})
			case c.note != "":
				if _, err := s.note.WriteString(c.note); err != nil {
					t.Fatal(err)
				}
			}
			s.close()
			collected(t, in, s.pid)
			h := in.hello()
			if len(h.Execs) != len(c.left) || len(in.execs) != len(c.left) {
				t.Fatalf("%+v, %d in the table", h.Execs, len(in.execs))
			}
			for i, e := range h.Execs {
				want := c.left[i]
				if e.ID != want.ID || e.Note != want.Note || *e.Status != *want.Status || e.PID != s.pid {
					t.Errorf("%+v, want %+v", e, want)
				}
			}
		})
	}
}

// TestSpareKilledFromInside: it is forgotten, and the daemon finds out when it
// writes the note.
func TestSpareKilledFromInside(t *testing.T) {
	in := alone(t)
	ours, daemon := conns(t)
	s, _ := askSpare(t, in, ours, daemon, "x")
	defer s.close()
	if err := unix.Kill(s.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	collected(t, in, s.pid)
	if len(in.execs) != 0 || len(in.pids) != 0 {
		t.Errorf("%v, %v", in.execs, in.pids)
	}
	if _, err := s.note.WriteString("n"); !errors.Is(err, unix.EPIPE) {
		t.Error("the note was taken:", err)
	}
}

func TestNoSpareWhileEnding(t *testing.T) {
	in := alone(t)
	ours, daemon := conns(t)
	in.ending = true
	before := fds(t)
	s, m := askSpare(t, in, ours, daemon, "x")
	s.close()
	in.stub.Close()
	if m.Error == nil || m.Error.Errno != int(unix.EAGAIN) || len(in.execs) != 0 {
		t.Errorf("%+v", m)
	}
	if after := fds(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestBrokenSpareRequests(t *testing.T) {
	in := table(t)
	ours, daemon := conns(t)
	for given, id := range map[int]string{0: "x", 6: "x", 7: "", 8: "x"} {
		before := fds(t)
		reply, got, err := ask(t, in, ours, daemon, initproto.Message{ID: 5, Op: initproto.OpSpare, Exec: id}, given)
		if err != nil || len(got) != 0 || reply.ID != 5 || reply.Error == nil {
			t.Errorf("%+v, %v, %v", reply, got, err)
		}
		if after := fds(t); after > before {
			t.Errorf("%d descriptors before, %d after", before, after)
		}
	}
}

// TestWaitStatus: what waitid tells is what wait4 would.
func TestWaitStatus(t *testing.T) {
	for _, script := range []string{"exit 0", "exit 200", "kill -9 $$", "kill -15 $$"} {
		in := alone(t)
		pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{Files: []uintptr{uintptr(in.null)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
			t.Fatal(err)
		}
		got, seen, ok := peek()
		var want unix.WaitStatus
		if _, err := unix.Wait4(pid, &want, 0, nil); err != nil {
			t.Fatal(err)
		}
		if !ok || got != pid || seen != want {
			t.Errorf("%s: pid %d, %x, want %d, %x", script, got, seen, pid, want)
		}
	}
	if (&siginfo{code: 4}).wait().Exited() || (&siginfo{code: 4}).wait().Signaled() {
		t.Error("a stop is an end")
	}
}

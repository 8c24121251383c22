package pid1

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// table is an Init with programs that are not real; their descriptors are.
func table(t *testing.T) *Init {
	t.Helper()
	in, err := newInit(initproto.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	in.tag = "made" // a cgroup namespace of its own is for the real one
	for id, status := range map[string]*initproto.Status{"b-runs": nil, "a-ended": {Code: 3}} {
		in.execs[id] = &execution{id: id, pid: 1 << 29, note: "note of " + id, stdin: null(t), output: []int{null(t), null(t)}, status: status}
	}
	t.Cleanup(func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		for _, e := range in.execs {
			e.release()
		}
		unix.Close(in.null)
	})
	return in
}

func null(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestHelloTellsEverythingInOrder(t *testing.T) {
	h := table(t).hello()
	if h.Version != initproto.Version || len(h.Execs) != 2 || h.Execs[0].ID != "a-ended" || h.Execs[1].ID != "b-runs" {
		t.Fatalf("%+v", h)
	}
	if e := h.Execs[0]; e.Status == nil || e.Status.Code != 3 || !e.Stdin || e.Note != "note of a-ended" {
		t.Errorf("%+v", e)
	}
}

func TestAdopt(t *testing.T) {
	in := table(t)
	if fds, err := in.adopt("b-runs"); err != nil || len(fds) != 3 {
		t.Errorf("%v, %v", fds, err)
	}
	in.endStdin("b-runs")
	in.endStdin("b-runs") // twice is once
	in.endStdin("nobody")
	if fds, err := in.adopt("b-runs"); err != nil || len(fds) != 2 {
		t.Errorf("without stdin: %v, %v", fds, err)
	}
	if _, err := in.adopt("nobody"); !errors.Is(err, unix.ESRCH) {
		t.Error(err)
	}
}

func TestAcknowledgeForgetsTheEnded(t *testing.T) {
	in := table(t)
	before := fds(t)
	in.acknowledge("b-runs") // too early: its end has not been told
	in.acknowledge("nobody")
	if len(in.execs) != 2 || fds(t) != before {
		t.Error("a program that runs was forgotten")
	}
	in.acknowledge("a-ended")
	if len(in.execs) != 1 || fds(t) != before-3 {
		t.Errorf("%d programs, %d descriptors of %d", len(in.execs), fds(t), before)
	}
}

func TestSignalRefuses(t *testing.T) {
	in := table(t)
	for name, c := range map[string]struct {
		m    initproto.Message
		want error
	}{
		"nobody":             {initproto.Message{Exec: "nobody", Signal: 15}, unix.ESRCH},
		"one that has ended": {initproto.Message{Exec: "a-ended", Signal: 15}, unix.ESRCH},
		"one that is gone":   {initproto.Message{Exec: "b-runs", Signal: 15}, unix.ESRCH},
		"PID 1":              {initproto.Message{PID: 1, Signal: 15}, unix.EPERM},
		"everybody":          {initproto.Message{PID: -1, Signal: 15}, unix.EPERM},
		"our group":          {initproto.Message{PID: 0, Signal: 15}, unix.EPERM},
		"no such signal":     {initproto.Message{PID: os.Getpid(), Signal: 99}, unix.EINVAL},
	} {
		if err := in.signal(c.m); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestSignalReachesTheGroup(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "cat; true") // a shell and its child
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }() // it was killed
	if _, err := io.WriteString(stdin, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // cat runs
		t.Fatal(err)
	}
	in := table(t)
	in.execs["real"] = &execution{id: "real", pid: cmd.Process.Pid, stdin: -1}
	if err := in.signal(initproto.Message{Exec: "real", Signal: int(unix.SIGKILL)}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil { // ends when both have
		t.Error(err)
	}
}

// conns is a connection to a daemon that is the test.
func conns(t *testing.T) (ours, daemon *initproto.Conn) {
	t.Helper()
	a, b, err := fdpass.Pair()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fdpass.CloseAll([]int{a, b}) })
	return &initproto.Conn{Socket: fdpass.Socket{FD: a}, Max: initproto.MaxToInit}, &initproto.Conn{Socket: fdpass.Socket{FD: b}, Max: initproto.MaxFromInit}
}

// ask sends a request as a daemon does, with descriptors of nothing.
func ask(t *testing.T, in *Init, ours, daemon *initproto.Conn, m initproto.Message, given int) (initproto.Message, []int, error) {
	t.Helper()
	var list []int
	for range given {
		list = append(list, null(t))
	}
	err := daemon.Write(m, list...)
	fdpass.CloseAll(list)
	if err != nil {
		t.Fatal(err)
	}
	if !in.receive(ours) {
		t.Fatal("it hung up")
	}
	return daemon.Read()
}

// TestBrokenRequests: each is answered with an error, and its descriptors are
// closed.
func TestBrokenRequests(t *testing.T) {
	in := table(t)
	ours, daemon := conns(t)
	for name, c := range map[string]struct {
		m     initproto.Message
		given int
	}{
		"spawn of nothing":          {initproto.Message{Op: initproto.OpSpawn}, 4},
		"spawn without streams":     {initproto.Message{Op: initproto.OpSpawn, Spawn: &initproto.Spawn{Argv: []string{"sh"}}}, 0},
		"spawn with too few":        {initproto.Message{Op: initproto.OpSpawn, Spawn: &initproto.Spawn{Argv: []string{"sh"}, Stdin: true}}, 4},
		"spawn with too many":       {initproto.Message{Op: initproto.OpSpawn, Spawn: &initproto.Spawn{Argv: []string{"sh"}}}, 6},
		"spawn without words":       {initproto.Message{Op: initproto.OpSpawn, Spawn: &initproto.Spawn{}}, 4},
		"spawn for nobody":          {initproto.Message{Op: initproto.OpSpawn, Spawn: &initproto.Spawn{Argv: []string{"sh"}, User: "nobody-has-this"}}, 4},
		"open of nothing":           {initproto.Message{Op: initproto.OpOpen}, 0},
		"attach without a mount":    {initproto.Message{Op: initproto.OpAttach, Attach: &initproto.Mount{Target: "/x"}}, 0},
		"attach with two":           {initproto.Message{Op: initproto.OpAttach, Attach: &initproto.Mount{Target: "/x"}}, 2},
		"attach of nothing":         {initproto.Message{Op: initproto.OpAttach}, 1},
		"terminate without a grace": {initproto.Message{Op: initproto.OpTerminate}, 0},
		"something unknown":         {initproto.Message{Op: "dance"}, 3},
		"a second setup":            {initproto.Message{Op: initproto.OpSetup, Setup: &initproto.Setup{}}, 1},
		"adopt nobody":              {initproto.Message{Op: initproto.OpAdopt, Exec: "nobody"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			before := fds(t)
			c.m.ID = 5
			reply, got, err := ask(t, in, ours, daemon, c.m, c.given)
			if err != nil || len(got) != 0 || reply.ID != 5 || reply.Op != c.m.Op || reply.Error == nil || reply.Error.Message == "" {
				t.Errorf("%+v, %v, %v", reply, got, err)
			}
			if after := fds(t); after > before {
				t.Errorf("%d descriptors before, %d after", before, after)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	in := table(t)
	ours, daemon := conns(t)
	ask := func(m initproto.Message) (initproto.Message, []int) {
		t.Helper()
		m.ID = 9
		reply, got, err := ask(t, in, ours, daemon, m, 0)
		if err != nil || reply.ID != 9 || reply.Error != nil {
			t.Errorf("%s: %+v, %v", m.Op, reply, err)
		}
		t.Cleanup(func() { fdpass.CloseAll(got) })
		return reply, got
	}
	if m, _ := ask(initproto.Message{Op: initproto.OpHello}); m.Hello == nil || len(m.Hello.Execs) != 2 {
		t.Errorf("hello: %+v", m)
	}
	if _, got := ask(initproto.Message{Op: initproto.OpAdopt, Exec: "b-runs"}); len(got) != 3 {
		t.Errorf("adopt: %v", got)
	}
	if _, got := ask(initproto.Message{Op: initproto.OpOpen, Open: &initproto.Open{Path: os.DevNull}}); len(got) != 1 {
		t.Errorf("open: %v", got)
	}
	if m, _ := ask(initproto.Message{Op: initproto.OpProcesses}); len(m.Processes) == 0 {
		t.Errorf("processes: %+v", m)
	}
	ask(initproto.Message{Op: initproto.OpTerminate, Terminate: &initproto.Terminate{}}) // nobody is there to be ended
	ask(initproto.Message{Op: initproto.OpKill, Exec: "nobody"})
	if err := daemon.Write(initproto.Message{Op: initproto.OpAck, Exec: "a-ended"}); err != nil || !in.receive(ours) { // has no answer
		t.Errorf("acknowledge: %v", err)
	}
	if m, _ := ask(initproto.Message{Op: initproto.OpHello}); len(m.Hello.Execs) != 1 {
		t.Errorf("after the acknowledgement: %+v", m.Hello)
	}
}

// TestEnded: the status is told and kept, and strangers are only reaped.
func TestEnded(t *testing.T) {
	in := table(t)
	ours, daemon := conns(t)
	e := in.execs["b-runs"]
	in.pids[77], in.pids[78] = e, &execution{id: "other", stdin: -1}
	in.ended(76, 0)
	if len(in.pids) != 2 {
		t.Error("a stranger's end is somebody's")
	}
	in.ended(77, unix.WaitStatus(9)) // nobody is connected: kept for the next
	if e.status == nil || *e.status != (initproto.Status{Code: 137, Signal: 9}) {
		t.Errorf("%+v", e.status)
	}
	in.setConn(ours)
	in.ended(78, unix.WaitStatus(5<<8))
	m, _, err := daemon.Read()
	if err != nil || m.Op != initproto.OpExited || m.Exec != "other" || m.ID != 0 || m.Status == nil || *m.Status != (initproto.Status{Code: 5}) {
		t.Errorf("%+v, %v", m, err)
	}
	if len(in.pids) != 0 {
		t.Errorf("%v", in.pids)
	}
}

func socketOf(c *initproto.Conn) int { return c.Socket.(fdpass.Socket).FD }

package cli

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

// beShell makes the test binary a shell with job control that knows one job:
// coop, with its own arguments. It says when the job has stopped and whether the
// terminal is raw then, and brings it back when a line is typed.
const beShell = "COOP_TEST_BE_SHELL"

func shellMain() int {
	signal.Ignore(syscall.SIGTTOU) // a shell takes the terminal from the background
	os.Unsetenv(beShell)
	job, err := os.StartProcess(os.Args[0], os.Args, &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0},
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("job %d.", job.Pid)
	for stops := 1; ; stops++ {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(job.Pid, &status, syscall.WUNTRACED, nil); err != nil {
			fmt.Println(err)
			return 1
		}
		if !status.Stopped() {
			return status.ExitStatus()
		}
		foreground(os.Getpid())
		state, _ := unix.IoctlGetTermios(0, unix.TCGETS)
		fmt.Printf("stop %d raw=%v.", stops, state.Lflag&unix.ICANON == 0)
		if _, err := os.Stdin.Read(make([]byte, 100)); err != nil {
			return 1
		}
		foreground(job.Pid)
		_ = syscall.Kill(-job.Pid, syscall.SIGCONT) // it is there, or Wait4 tells
	}
}

func foreground(group int) {
	_ = unix.IoctlSetPointerInt(0, unix.TIOCSPGRP, group) // the terminal is ours
}

func TestSuspendAndContinue(t *testing.T) {
	var streams atomic.Int32
	w := shows(t, func(v *fakedaemon.View) {
		v.Stdout([]byte(loud + " " + strconv.Itoa(int(streams.Add(1))) + "."))
		v.Await("never")
	})
	s := newSeat(t)
	s.start(t, w.daemon, &syscall.SysProcAttr{Setsid: true, Setctty: true}, []string{beShell + "=1"}, "attach", "box")
	number, _, _ := strings.Cut(s.await(t, "job "), ".")
	pid, err := strconv.Atoi(number)
	if err != nil {
		t.Fatal(err)
	}
	s.await(t, "ready 1.")

	kill(t, pid, syscall.SIGTSTP)
	s.await(t, "stop 1 raw=false.")
	shown, _, _ := strings.Cut(s.await(t, "ready 1."), "stop 1")
	for _, undo := range quiet {
		if !strings.Contains(shown, undo) {
			t.Errorf("%q is missing in %q", undo, shown)
		}
	}
	s.typing(t, "fg\n")
	s.await(t, "ready 2.")
	if !s.isRaw(t) {
		t.Error("not raw again")
	}

	kill(t, pid, syscall.SIGSTOP) // no time to tidy up
	s.await(t, "stop 2 raw=true.")
	if err := unix.IoctlSetTermios(int(s.slave.Fd()), unix.TCSETS, &s.before); err != nil { // as shells do
		t.Fatal(err)
	}
	s.typing(t, "fg\n")
	s.await(t, "ready 3.")
	if !s.isRaw(t) {
		t.Error("not raw again")
	}
	s.typing(t, "\x1d")
	if got := s.exit(t); got != 0 {
		t.Errorf("status %d, %q", got, s.screen())
	}
}

func kill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

// Without a shell that would continue it, coop does not stop.
func TestNobodyToContinue(t *testing.T) {
	w := shows(t, func(v *fakedaemon.View) {
		v.Stdout([]byte("ready"))
		v.Await("resize")
		v.Stdout([]byte("alive"))
		v.Await("never")
	})
	s := newSeat(t)
	s.coop(t, w.daemon, "attach", "box")
	s.await(t, "ready")
	kill(t, s.cmd.Process.Pid, syscall.SIGTSTP)
	s.resize(t, 90, 20)
	s.await(t, "alive")
	s.typing(t, "\x1d")
	if got := s.exit(t); got != 0 {
		t.Errorf("status %d", got)
	}
}

func TestParseJob(t *testing.T) {
	for stat, want := range map[string]job{
		"12 (a) b) S 3 4 5 0": {3, 4, 5},
		"12 (x) S 3 4":        {},
		"12 x S 3 4 5":        {},
		"12 (x) S a 4 5 0":    {},
		"":                    {},
	} {
		got, ok := parseJob(stat)
		if ok != (want != job{}) || ok && got != want {
			t.Errorf("%q: %v %v", stat, got, ok)
		}
	}
}

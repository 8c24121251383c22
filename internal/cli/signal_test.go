package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

// child is coop as a process of its own.
type child struct {
	*exec.Cmd
	stdout *os.File
	stderr bytes.Buffer
	ended  chan struct{}
}

func startChild(t *testing.T, d *fakedaemon.Daemon, args ...string) *child {
	t.Helper()
	d.Settle()
	stdout, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := &child{Cmd: exec.Command(os.Args[0], args...), stdout: stdout, ended: make(chan struct{})}
	c.Env = append(os.Environ(), beCoop+"=1", "COOP_HOME="+d.Home)
	c.Stdout, c.Stderr = w, &c.stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		_ = c.Wait() // the status is in ProcessState
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill() // most have ended
		<-c.ended
		stdout.Close()
	})
	return c
}

func (c *child) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := c.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// exit waits for the end and gives the status as a shell does: a signal that
// comes when coop is already on its way out kills it, to the same effect.
func (c *child) exit() int {
	<-c.ended
	if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return c.ProcessState.ExitCode()
}

func TestSignalsReachTheCommand(t *testing.T) {
	all := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}
	w := newWorld(t)
	w.daemon.Command = func(s *fakedaemon.Session) {
		s.Stdout([]byte("ready\n"))
		for range all {
			_, c := s.Await("signal")
			if c == nil {
				return
			}
			s.Stdout([]byte(c.Signal + "\n"))
		}
		s.Control(api.Control{Type: "exit", Exit: &api.ExecResult{ExitCode: 143, Signal: "SIGTERM"}})
	}
	c := startChild(t, w.daemon, "run", "x")
	lines := bufio.NewScanner(c.stdout)
	lines.Scan()
	for _, s := range all {
		c.signal(t, s)
		if !lines.Scan() || lines.Text() != signalName(s) {
			t.Fatalf("%v came as %q", s, lines.Text())
		}
	}
	if got := c.exit(); got != 143 {
		t.Errorf("exit %d, %s", got, c.stderr.String())
	}
}

func TestThreeUnansweredInterrupts(t *testing.T) {
	w := newWorld(t)
	w.daemon.Add(sandboxNamed("box"))
	interrupts := make(chan struct{}, patience)
	gone := make(chan struct{})
	w.daemon.Command = func(s *fakedaemon.Session) {
		defer close(gone)
		s.Stdout([]byte("ready\n"))
		for {
			if _, c := s.Await("signal"); c == nil {
				return
			}
			interrupts <- struct{}{}
		}
	}
	c := startChild(t, w.daemon, "exec", "-s", "box", "x")
	if !bufio.NewScanner(c.stdout).Scan() {
		t.Fatal(c.stderr.String())
	}
	for range patience - 1 {
		c.signal(t, os.Interrupt)
		<-interrupts
	}
	c.signal(t, os.Interrupt)
	if got := c.exit(); got != 130 || c.stderr.String() != "coop: interrupted; the command may still run\n" {
		t.Errorf("exit %d, %q", got, c.stderr.String())
	}
	<-gone
}

// Even when nobody reads our output, which no signal can interrupt.
func TestInterruptsWithBlockedOutput(t *testing.T) {
	w := newWorld(t)
	w.daemon.Add(sandboxNamed("box"))
	interrupts, gone := make(chan struct{}), make(chan struct{})
	w.daemon.Command = func(s *fakedaemon.Session) {
		defer close(gone)
		var writing sync.WaitGroup
		writing.Go(func() { s.Stdout(make([]byte, 1<<20)) }) // a pipe holds 64 KiB
		for {
			if _, c := s.Await("signal"); c == nil {
				break
			}
			select {
			case interrupts <- struct{}{}:
			case <-t.Context().Done():
			}
		}
		writing.Wait()
	}
	c := startChild(t, w.daemon, "exec", "-s", "box", "x")
	first := make([]byte, 1)
	if _, err := io.ReadFull(c.stdout, first); err != nil {
		t.Fatal(c.stderr.String())
	}
	// Output on its way makes up for an interrupt, so it may take a few more.
	for running := true; running; {
		c.signal(t, os.Interrupt)
		select {
		case <-interrupts:
		case <-c.ended:
			running = false
		}
	}
	if got := c.exit(); got != 130 {
		t.Errorf("exit %d, %q", got, c.stderr.String())
	}
	go func() { // one may be on its way to a test that no longer asks
		select {
		case <-interrupts:
		case <-gone:
		}
	}()
	<-gone
}

func TestClosedOutput(t *testing.T) {
	w := newWorld(t)
	gone := make(chan struct{})
	w.daemon.Command = func(s *fakedaemon.Session) {
		defer close(gone)
		for s.Stdout([]byte("y\n")) {
		}
	}
	c := startChild(t, w.daemon, "run", "yes")
	if _, err := io.ReadFull(c.stdout, make([]byte, 2)); err != nil {
		t.Fatal(err)
	}
	c.stdout.Close()
	if got := c.exit(); got != 141 || c.stderr.String() != "" {
		t.Errorf("exit %d, %q", got, c.stderr.String())
	}
	<-gone
}

func TestInterruptWhileCreating(t *testing.T) {
	w := newWorld(t)
	creating, release := make(chan struct{}), make(chan struct{})
	w.daemon.Fail = func(method, _ string) *api.Error {
		if method == "POST" {
			close(creating)
			<-release
		}
		return nil
	}
	c := startChild(t, w.daemon, "run", "x")
	<-creating
	c.signal(t, os.Interrupt)
	got := c.exit()
	close(release)
	if got != 130 || c.stderr.String() != "coop: interrupted\n" {
		t.Errorf("exit %d, %q", got, c.stderr.String())
	}
}

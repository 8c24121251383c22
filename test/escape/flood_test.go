package escape

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func floodDaemon() attack {
	return attack{
		Class: runtimeClass, Name: "flood",
		Attack: "flood PID 1 with thousands of orphans and the daemon with ends of programs and megabytes of command lines",
		Proves: "the daemon goes on answering another sandbox, and a list of processes stays small",
		Drive: func(t *testing.T, b *box) error {
			other := b.home.Create(t)
			var flood sync.WaitGroup
			flood.Go(func() { b.home.Coop(t, b.command("flood", partChild)...) })
			for range 2 {
				flood.Go(func() {
					for range 50 {
						b.home.Exec(t, b.id, "true")
					}
				})
			}
			for i := range 20 {
				if r := b.home.Exec(t, other, "true"); r.Code != 0 {
					return nil
				}
				if r := b.home.Coop(t, "ps", b.id); r.Code != 0 || len(r.Stdout) > 1<<20 {
					t.Logf("ps %d: exit status %d, %d bytes: %s", i, r.Code, len(r.Stdout), r.Stderr)
					return nil
				}
			}
			flood.Wait()
			if err := b.answers(t); err != nil {
				t.Log(err)
				return nil
			}
			return nothing("everything was answered")
		},
		Child:  flood,
		Denied: errnos(unix.ENODATA),
		Fixed:  "bounded messages, one reader for each sandbox, ends kept until they are acknowledged",
	}
}

// flood leaves two thousand orphans to PID 1 while a hundred programs with the
// longest command lines sleep.
func flood() error {
	long := strings.Repeat("x", 120<<10)
	var sleepers []*exec.Cmd
	for range 50 {
		cmd := exec.Command("sh", "-c", "read x", long, long, long, long)
		in, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		defer in.Close()
		if err := cmd.Start(); err != nil {
			return err
		}
		sleepers = append(sleepers, cmd)
	}
	for range 20 {
		if err := exec.Command("sh", "-c", "for i in $(seq 100); do (true &) ; done").Run(); err != nil {
			return err
		}
	}
	for _, cmd := range sleepers {
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			return err
		}
		_ = cmd.Wait() // killed
	}
	fmt.Fprintln(os.Stderr, "flooded")
	return nil
}

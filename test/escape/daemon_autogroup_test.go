package escape

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func daemonAutogroup() attack {
	return attack{
		Class: runtimeClass, Name: "daemon-autogroup",
		Attack:  "give the daemon's session the lowest priority through /proc/1/autogroup",
		Proves:  "a sandbox has no hold on the daemon's share of the processor",
		Private: true,
		Run: func() error {
			err := os.WriteFile("/proc/1/autogroup", []byte("19"), 0)
			for errors.Is(err, unix.EAGAIN) { // at most ten changes a second
				err = os.WriteFile("/proc/1/autogroup", []byte("19"), 0)
			}
			if err != nil {
				return err
			}
			return nothing("PID 1's own group took it")
		},
		After: func(t *testing.T, b *box) error {
			group, err := os.ReadFile(fmt.Sprintf("/proc/%d/autogroup", b.home.DaemonPID(t)))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(strings.TrimSpace(string(group)), " nice 0") {
				return fmt.Errorf("the daemon's scheduling group is now %s", group)
			}
			return nil
		},
		Control: func() error { return os.WriteFile("/proc/self/autogroup", []byte("19"), 0) },
		Denied:  errnos(unix.ENODATA, unix.EACCES, unix.EPERM, unix.EROFS),
		Fixed:   "PID 1 is not in the daemon's session",
	}
}

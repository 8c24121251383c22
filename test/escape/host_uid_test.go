package escape

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func hostRoot() attack {
	return attack{
		Class: idsClass, Name: "host-root",
		Attack: "be host uid 0: PID 1, a program as root inside, and one as another user, looked at from outside",
		Proves: "no process of a sandbox is host root",
		Drive: func(t *testing.T, b *box) error {
			pid1 := b.initPID(t)
			b.sh(t, "sleep 1000 >/dev/null 2>&1 & true")
			ids := append(statusIDs(t, pid1), childIDs(t, pid1)...)
			if len(ids) < 16 {
				t.Fatalf("saw only %d ids", len(ids))
			}
			if slices.Contains(ids, "0") {
				return nil
			}
			return refused(unix.EPERM, "uids and gids are %v", slices.Compact(ids))
		},
		Denied: errnos(unix.EPERM),
		Fixed:  "id map: 0 inside is a high id (root) or the person's own (user)",
	}
}

// statusIDs are the four uids and gids of a process as the host counts.
func statusIDs(t *testing.T, pid int) []string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 5 && (f[0] == "Uid:" || f[0] == "Gid:") {
			ids = append(ids, f[1:]...)
		}
	}
	return ids
}

// childIDs are those of the children of PID 1.
func childIDs(t *testing.T, parent int) []string {
	t.Helper()
	var ids []string
	found, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // ended since
		}
		var pid int
		if f := afterName(string(stat)); len(f) > 1 && f[1] == fmt.Sprint(parent) {
			if _, err := fmt.Sscan(string(stat), &pid); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, statusIDs(t, pid)...)
		}
	}
	return ids
}

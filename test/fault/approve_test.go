package fault

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/test/harness"
)

// The daemon dies in the middle of an approve: the next command finds the
// project as before or as approved, and says which.
func TestKilledDuringApprove(t *testing.T) {
	c := harness.Client(t)
	const files = 200
	undone, completed, whole := 0, 0, 0
	// Each of them is staged, swapped, and what it replaces removed.
	for round, much := range []int{1, 150, 202, 300, 400, 502, 520, 570} {
		project := harness.Project(t)
		for i := range files / 2 {
			if err := os.WriteFile(filepath.Join(project, fmt.Sprintf("f%03d", i)), []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		id := harness.Create(t, "--workspace", project)
		wantShell(t, c, id, fmt.Sprintf("cd /workspace; for i in $(seq -w 0 %d); do echo new >f$i; done; mkdir d; echo x >d/x", files-1), "")
		before := names(t, project)
		events := comings(t, project)
		approve := make(chan error, 1)
		go func() {
			_, err := c.Approve(within(t, time.Minute), id, api.ApproveRequest{})
			approve <- err
		}()
		begun(t, events, much)
		harness.KillDaemon(t)
		err := <-approve
		res, cerr := c.Conflicts(within(t, time.Minute), id)
		if cerr != nil {
			t.Fatal(cerr)
		}
		after := names(t, project)
		said := strings.Join(res.Notes, "\n")
		switch {
		case same(before, after):
			undone++
			if after["f000"] != "old" || err == nil {
				t.Errorf("round %d: %q, %v", round, after["f000"], err)
			}
		case len(after) == len(before)+files/2+2 && allNew(after):
			if whole++; strings.Contains(said, "completed") {
				completed++
			}
		default:
			t.Fatalf("round %d: the project is neither as before nor as approved: %d names, %q", round, len(after), said)
		}
		for name := range after {
			if strings.Contains(name, ".coop-") {
				t.Errorf("round %d: %s is left", round, name)
			}
		}
		wantLife(t, c, id)
	}
	t.Logf("%d as before, %d as approved (%d finished by the next daemon)", undone, whole, completed)
}

// comings watches what happens to the names of a directory.
func comings(t *testing.T, dir string) *os.File {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_DELETE); err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { f.Close() })
	return f
}

// begun waits until the approve has done so much.
func begun(t *testing.T, events *os.File, much int) {
	t.Helper()
	buf := make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1)
	for much > 0 {
		n, err := events.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < n; much-- {
			at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[at+12:]))
		}
	}
}

// names gives every file with its content.
func names(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			out[p] = ""
			return err
		}
		data, err := os.ReadFile(p)
		out[filepath.Base(p)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

func allNew(m map[string]string) bool {
	for name, text := range m {
		if strings.HasPrefix(name, "f") && len(name) == 4 && text != "new\n" {
			return false
		}
	}
	return true
}

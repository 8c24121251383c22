package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/api"
)

func exampleDiff() *api.Diff {
	return &api.Diff{
		Files: []api.FileChange{
			{FilePath: ".git", ChangeType: "modified", OldMode: "040755", Mode: "040755", Status: "denied", Reason: ".git/**"},
			{FilePath: "a\x1b[2J", ChangeType: "modified", OldMode: "100644", Mode: "100755", Status: "pending", Additions: 1, Deletions: 1, Hunks: []api.Hunk{
				{Header: "@@ -1 +1 @@", Lines: []string{"-old\x07", "+new\ttab"}},
			}},
			{FilePath: "dir", ChangeType: "added", Mode: "040755", Status: "pending"},
			{FilePath: "dir/.envrc", ChangeType: "added", Mode: "100644", Status: "pending", Flagged: []string{"runs on the host later: direnv"}},
			{FilePath: "empty", ChangeType: "added", Mode: "040755", Status: "pending"},
			{FilePath: "new", OldPath: "old", ChangeType: "renamed", OldMode: "100644", Mode: "100644", Similarity: 80, Binary: true, Size: 3, OldSize: 2, Status: "pending"},
		},
		Totals: api.DiffTotals{Files: 3, Additions: 1, Deletions: 1, Directories: 2, Flagged: 1, Denied: 1},
	}
}

func paint(colours bool, what func(*painter)) string {
	var b bytes.Buffer
	what(&painter{w: &b, colours: colours})
	return b.String()
}

func TestDiffForPeople(t *testing.T) {
	d := exampleDiff()
	got := paint(false, func(p *painter) { p.diff(d) })
	want := `modified: .git/
! denied: .git/**
modified: a\x1b[2J
mode 100644 → 100755
@@ -1 +1 @@
-old\a
+new	tab
added: dir/.envrc
! flagged: runs on the host later: direnv
added: empty/
renamed: old → new (80%)
binary, 2 → 3 bytes
`
	if got != want {
		t.Errorf("%s", got)
	}
	coloured := paint(true, func(p *painter) { p.diff(d) })
	if !strings.Contains(coloured, "\x1b[31m-old\\a\x1b[m\n\x1b[32m+new\ttab\x1b[m\n") {
		t.Errorf("%q", coloured)
	}
}

func TestDiffStat(t *testing.T) {
	got := paint(false, func(p *painter) { p.stat(exampleDiff()) })
	want := `modified: .git/          | denied: .git/**
modified: a\x1b[2J       | +1 -1
added: dir/.envrc        | +0 -0  ! runs on the host later: direnv
added: empty/            | directory
renamed: old → new (80%) | binary
3 files changed, 1 insertion(+), 1 deletion(-), 2 directories, 1 flagged, 1 denied
`
	if got != want {
		t.Errorf("%s", got)
	}
	if names := paint(false, func(p *painter) { p.names(exampleDiff()) }); names != ".git/\na\\x1b[2J\ndir/.envrc\nempty/\nnew\n" {
		t.Errorf("%q", names)
	}
}

func TestInWorkspace(t *testing.T) {
	for _, c := range [][4]string{
		{"/p", "/p", "a", "a"},
		{"/p", "/p/sub", "a", "sub/a"},
		{"/p", "/p/sub", "..", "."},
		{"/p", "/p/sub", "/p/x", "x"},
		{"/p", "/elsewhere", "a", "a"},
		{"/p", "/p", "/workspace/a", "/workspace/a"},
		{"/p", "/pp", "a", "a"},
	} {
		if got := inWorkspace(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("%s in %s over %s: %s, want %s", c[2], c[1], c[0], got, c[3])
		}
	}
}

// TestDiffOnATerminal: whatever the settings, nothing from inside reaches a
// terminal as it is.
func TestDiffOnATerminal(t *testing.T) {
	master, tty := openTerminal(t)
	w := newWorld(t)
	w.daemon.Add(api.Sandbox{ID: "id1", Name: "box", Workspace: api.Workspace{Source: "/nowhere"}})
	w.daemon.Diff = exampleDiff()
	w.daemon.Settle()
	t.Setenv("COOP_PAGER", "cat")
	for _, env := range [][2]string{{"TERM", "xterm"}, {"NO_COLOR", "1"}, {"TERM", "dumb"}} {
		t.Setenv(env[0], env[1])
		for _, args := range [][]string{{"diff"}, {"diff", "--stat"}, {"diff", "--name-only"}} {
			var stderr bytes.Buffer
			if status := Main(append(args, "-s", "box"), Streams{Out: tty, Err: &stderr}, w.hooks); status != 0 {
				t.Fatalf("%q: %d %s", args, status, &stderr)
			}
			buf := make([]byte, 1<<16)
			n, err := master.Read(buf)
			if got := string(buf[:n]); err != nil || strings.Contains(got, "\x1b[2J") || strings.Contains(got, "\x07") || !strings.Contains(got, `a\x1b[2J`) {
				t.Errorf("%q with %q: %q, %v", args, env, got, err)
			}
		}
	}
}

func openTerminal(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return master, tty
}

// TestDiffIntoAPipe: the bytes of the patch as they are, what it cannot say beside it.
func TestDiffIntoAPipe(t *testing.T) {
	w := newWorld(t)
	w.daemon.Add(api.Sandbox{ID: "id1", Name: "box"})
	d := exampleDiff()
	d.UnifiedDiff = "diff --git \x1b\xc3\n"
	w.daemon.Diff = d
	w.want(t, 0, d.UnifiedDiff, "coop: denied: .git: .git/**\ncoop: flagged: dir/.envrc: runs on the host later: direnv\n", "diff", "-s", "box")
	w.want(t, 0, ".git/\na\\x1b[2J\ndir/.envrc\nempty/\nnew\n", "", "-q", "diff", "-s", "box")
	w.want(t, 2, "", "coop: --stat and --name-only exclude each other\nhint: coop diff --help\n", "diff", "--stat", "--name-only")
}

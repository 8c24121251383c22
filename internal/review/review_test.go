package review

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

func TestApproveAndTheRestStaysPending(t *testing.T) {
	b := newBox(t, map[string]string{"f": lines(1, 40, nil), "gone": "x", "dir/a": "1", "dir/b": "2"})
	b.write("f", lines(1, 40, map[int]string{3: "three", 20: "twenty", 38: "end"}))
	b.write("new/deep/file", "n")
	must(t, os.Remove(filepath.Join(b.inside, "gone")))
	must(t, os.RemoveAll(filepath.Join(b.inside, "dir")))

	res := b.mustApprove(Request{Hunks: []HunkRef{{Path: "f", Index: 1}}})
	same(t, res.Applied, []string{"f"})
	same(t, res.Status, sandbox.ReviewPartial)
	same(t, b.read("f"), lines(1, 40, map[int]string{20: "twenty"}))

	res = b.mustApprove(Request{Files: []string{"new/deep/file", "dir"}})
	same(t, res.Applied, []string{"dir", "dir/a", "dir/b", "new/deep/file"})
	same(t, b.pending(), []string{"modified f", "deleted gone"})
	res = b.mustApprove(Request{Files: []string{"new/deep/file"}}) // asking twice is asking once
	same(t, res.Applied, []string{})

	res = b.mustApprove(Request{})
	same(t, res.Remaining, 0)
	same(t, res.Status, sandbox.ReviewApproved)
	same(t, contents(t, b.project), contents(t, b.inside))
	same(t, b.pending(), []string{})
}

// TestHunksByID: a hunk that was seen is found again after others were applied,
// and one that has changed since is a conflict.
func TestHunksByID(t *testing.T) {
	b := newBox(t, map[string]string{"f": lines(1, 60, nil)})
	b.write("f", lines(1, 60, map[int]string{3: "three", 30: "thirty", 58: "end"}))
	r := b.open()
	list, err := r.List(t.Context())
	must(t, err)
	file, err := r.space.Diff(t.Context(), list[0], changes.NewBudget(changes.Limits{}))
	must(t, err)
	ids := []string{}
	for _, h := range file.Hunks {
		ids = append(ids, h.ID())
	}
	b.mustApprove(Request{Hunks: []HunkRef{{Path: "f", Index: 0, ID: ids[0]}}})
	b.mustApprove(Request{Hunks: []HunkRef{{Path: "f", Index: 2, ID: ids[2]}}}) // it is number 1 by now
	same(t, b.read("f"), lines(1, 60, map[int]string{3: "three", 58: "end"}))
	b.write("f", lines(1, 60, map[int]string{3: "three", 30: "THIRTY", 58: "end"}))
	_, err = b.approve(Request{Hunks: []HunkRef{{Path: "f", Index: 0, ID: ids[1]}}})
	wantError(t, err, sandbox.Conflict, "another one by now")
	_, err = b.approve(Request{Hunks: []HunkRef{{Path: "f", Index: 7}}})
	wantError(t, err, sandbox.NotFound, "no hunk 7")
}

// TestParts: a hunk that was split is applied in pieces.
func TestParts(t *testing.T) {
	b := newBox(t, map[string]string{"f": lines(1, 9, nil)})
	b.write("f", lines(1, 9, map[int]string{3: "three", 5: "five", 7: "seven"}))
	b.mustApprove(Request{Hunks: []HunkRef{{Path: "f", Index: 0, Parts: []int{1}}}})
	same(t, b.read("f"), lines(1, 9, map[int]string{5: "five"}))
	_, err := b.approve(Request{Hunks: []HunkRef{{Path: "f", Index: 0, Parts: []int{2}}}})
	wantError(t, err, sandbox.NotFound, "no part 2")
	b.mustApprove(Request{Hunks: []HunkRef{{Path: "f", Index: 0, Parts: []int{0, 1}}}})
	same(t, b.pending(), []string{})
}

func TestUnknownPathsAreRefused(t *testing.T) {
	b := newBox(t, map[string]string{"f": "x"})
	b.write("f", "y")
	for _, p := range []string{"g", "../f", "/etc/passwd", "f/x"} {
		_, err := b.approve(Request{Files: []string{p}})
		wantError(t, err, sandbox.NotFound, "no change is pending")
	}
	same(t, b.read("f"), "x")
}

// TestFlagged: what makes the host run code later goes only with a confirmation.
func TestFlagged(t *testing.T) {
	b := newBox(t, map[string]string{"f": "x"})
	b.write("f", "y")
	b.write(".envrc", "evil")
	b.write("sub/.vscode/tasks.json", "{}")
	b.write(".github/workflows/ci.yml", "on: push")
	res := b.mustApprove(Request{})
	same(t, res.Flagged, []string{".envrc", ".github/workflows", ".github/workflows/ci.yml", "sub/.vscode/tasks.json"})
	if _, err := os.Lstat(filepath.Join(b.project, ".envrc")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a flagged file was applied")
	}
	b.mustApprove(Request{Files: []string{"sub"}}) // a directory's name confirms nothing in it
	if _, err := os.Lstat(filepath.Join(b.project, "sub/.vscode/tasks.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a flagged file came with its directory")
	}
	same(t, b.mustApprove(Request{Files: []string{".envrc"}}).Applied, []string{".envrc"})
	same(t, b.mustApprove(Request{Flagged: true}).Remaining, 0)
}

// TestDeniedAndRefused: git's own files, devices and the like never arrive.
func TestDeniedAndRefused(t *testing.T) {
	b := newBox(t, map[string]string{".git/config": "[core]", ".git/HEAD": "ref: refs/heads/main", "f": "x"})
	b.policy.Deny = []string{"secret/**"}
	b.write(".git/hooks/post-checkout", "evil")
	b.write(".git/config", "[core] fsmonitor = evil")
	b.write("sub/.git/config", "evil")
	b.write("secret/key", "k")
	b.write("fine", "ok")
	must(t, unix.Mkfifo(filepath.Join(b.inside, "fifo"), 0o644))
	must(t, unix.Mknod(filepath.Join(b.inside, "dev"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
	b.write("suid", "x")
	must(t, os.Chmod(filepath.Join(b.inside, "suid"), 0o4755))
	must(t, os.Chmod(filepath.Join(b.inside, "suid"), 0o755|fs.ModeSetuid))
	res := b.mustApprove(Request{Flagged: true, Force: true})
	same(t, res.Applied, []string{"fine", "sub"})
	for _, p := range []string{".git/hooks/post-checkout", ".git", "secret/key", "fifo", "dev", "suid", "sub/.git/config"} {
		if _, err := b.approve(Request{Files: []string{p}, Force: true}); err == nil {
			t.Errorf("%s was applied", p)
		}
	}
	same(t, b.read(".git/config"), "[core]")
}

// TestLinksStayLinks: a link to the outside is applied as a link, and what lies
// behind it in the workspace is not followed.
func TestLinksStayLinks(t *testing.T) {
	b := newBox(t, map[string]string{"dir/f": "x"})
	outside := t.TempDir()
	must(t, os.RemoveAll(filepath.Join(b.inside, "dir")))
	must(t, os.Symlink(outside, filepath.Join(b.inside, "dir")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(b.inside, "pw")))
	b.mustApprove(Request{})
	same(t, contents(t, b.project), map[string]string{".": "dir", "dir": "-> " + outside, "pw": "-> /etc/passwd"})
	b.write("dir2/new", "x")
	must(t, os.Remove(filepath.Join(b.inside, "dir")))
	b.write("dir/new", "not outside")
	_, err := b.approve(Request{Files: []string{"dir/new"}}) // in the project dir still is a link
	wantError(t, err, sandbox.Conflict, "not a directory")
	b.mustApprove(Request{})
	same(t, len(contents(t, outside)), 1)
	same(t, b.read("dir/new"), "not outside")
}

// TestHostileNames: every byte a name can have arrives as it is.
func TestHostileNames(t *testing.T) {
	b := newBox(t, nil)
	names := []string{"new\nline", "esc\x1b[2J", "\xff\xfe", strings.Repeat("n", 255), "-rf", "quote\"'\\", " ", "a\u202eb", "..."}
	for _, n := range names {
		b.write(n, n)
	}
	res := b.mustApprove(Request{})
	same(t, len(res.Applied), len(names))
	same(t, contents(t, b.project), contents(t, b.inside))
	same(t, b.pending(), []string{})
}

// TestSparsePetabyte: a file that claims to be huge is refused before it is read.
func TestSparsePetabyte(t *testing.T) {
	b := newBox(t, nil)
	b.write("huge", "x")
	if err := os.Truncate(filepath.Join(b.inside, "huge"), 1<<43); err != nil {
		t.Skipf("needs sparse files: %v", err)
	}
	b.write("small", "x")
	_, err := b.approve(Request{})
	wantError(t, err, sandbox.TooLarge, "larger than")
	same(t, contents(t, b.project), map[string]string{".": "dir"})
	b.policy.MaxFileBytes = 100
	same(t, b.mustApprove(Request{}).Applied, []string{"small"})
}

// TestFilesThatChangeUnderTheReview: while an agent writes, links and unlinks,
// what arrives is some state of it, and never something from outside.
func TestFilesThatChangeUnderTheReview(t *testing.T) {
	b := newBox(t, map[string]string{"d/f": "0"})
	stop := make(chan struct{})
	var agent sync.WaitGroup
	agent.Go(func() {
		d, f := filepath.Join(b.inside, "d"), filepath.Join(b.inside, "d", "f")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Remove(f)
			switch i % 5 {
			case 0:
				_ = os.Symlink("/etc/shadow", f)
			case 1:
				_ = os.WriteFile(f, []byte("agent"), 0o644)
			case 2:
				_ = unix.Mkfifo(f, 0o644)
			case 3:
				_ = os.WriteFile(f, []byte("agent"), 0o4755|fs.ModeSetuid)
			case 4:
				_ = os.RemoveAll(d)
				_ = os.Symlink("/etc", d)
				_ = os.Remove(d)
				_ = os.Mkdir(d, 0o755)
			}
		}
	})
	applied := 0
	for range 100 {
		if _, err := b.approve(Request{Force: true}); err == nil {
			applied++
		}
		if r, err := Recover(JournalOf(b.config().Home, "0123")); err != nil || r != nil {
			t.Fatalf("a journal is left: %+v, %v", r, err)
		}
		for p, what := range contents(t, b.project) {
			if p != "." && p != "d" && p != "d/f" || strings.Contains(what, "root:") {
				t.Fatalf("%s: %s", p, what)
			}
		}
		if st, err := os.Lstat(filepath.Join(b.project, "d", "f")); err == nil && (st.Mode()&fs.ModeSetuid != 0 || st.Mode()&fs.ModeNamedPipe != 0) {
			t.Fatalf("%v", st.Mode())
		}
	}
	close(stop)
	agent.Wait()
	t.Logf("%d of 100 requests applied something", applied)
}

func TestDiscard(t *testing.T) {
	before := map[string]string{"f": "x", "run*": "#!", "gone/a": "1", "gone/b/c": "2", "l -> f": "", "todir": "file", "tofile/x": "in"}
	b := newBox(t, before)
	was := contents(t, b.project)
	b.write("f", "y")
	must(t, os.Chmod(filepath.Join(b.inside, "run"), 0o644))
	must(t, os.RemoveAll(filepath.Join(b.inside, "gone")))
	b.write("new/a", "1")
	b.write("new/b", "2")
	must(t, os.Remove(filepath.Join(b.inside, "l")))
	must(t, os.Symlink("elsewhere", filepath.Join(b.inside, "l")))
	must(t, os.Remove(filepath.Join(b.inside, "todir")))
	b.write("todir/x", "dir now")
	must(t, os.RemoveAll(filepath.Join(b.inside, "tofile")))
	b.write("tofile", "file now")
	res := b.discard("new/a", "f", "gone/b/c")
	same(t, res.Status, sandbox.ReviewPartial)
	inside := contents(t, b.inside)
	same(t, inside["f"], was["f"])
	same(t, inside["gone/b/c"], was["gone/b/c"])
	if _, there := inside["new/a"]; there {
		t.Error("new/a is still there")
	}
	r := b.open()
	all, err := r.Discard(t.Context(), nil)
	must(t, err)
	same(t, all.Remaining, 0)
	same(t, all.Status, sandbox.ReviewRejected)
	same(t, contents(t, b.inside), was)
	same(t, contents(t, b.project), was)
	same(t, look(t, b.project)["f"], "-rw-r--r-- ancient x")
	_, err = b.open().Discard(t.Context(), []string{"nothing"})
	wantError(t, err, sandbox.NotFound, "no change")
}

// TestSettledStaysSettled: what was decided is no change again only because the
// project has moved on.
func TestSettledStaysSettled(t *testing.T) {
	b := newBox(t, map[string]string{"approved": "1", "discarded": "1", "deleted": "1"})
	b.write("approved", "2")
	b.write("discarded", "2")
	must(t, os.Remove(filepath.Join(b.inside, "deleted")))
	b.discard("discarded")
	b.mustApprove(Request{})
	for _, p := range []string{"approved", "discarded", "deleted"} {
		b.write("project/"+p, "the person's own")
	}
	same(t, b.pending(), []string{})
	same(t, b.mustApprove(Request{}).Applied, []string{})
	b.unmount()
	must(t, Compact(b.config()))
	b.mount()
	inside := contents(t, b.inside)
	same(t, inside["approved"], `false "the person's own"`)
	same(t, inside["discarded"], `false "the person's own"`)
	b.write("approved", "the agent again")
	same(t, b.pending(), []string{"modified approved"})
}

// TestAutoApprove: off unless the policy has thresholds, and within them only.
func TestAutoApprove(t *testing.T) {
	b := newBox(t, map[string]string{"f": "1\n2\n3\n"})
	b.write("f", "1\n2\nthree\n")
	_, err := b.approve(Request{Auto: true})
	wantError(t, err, sandbox.Denied, "no thresholds")
	b.policy.AutoApprove = &sandbox.AutoApprove{MaxFiles: 1, MaxLines: 1}
	_, err = b.approve(Request{Auto: true})
	wantError(t, err, sandbox.Denied, "2 lines are more than 1")
	b.policy.AutoApprove.MaxLines = 2
	b.write("g", "x")
	_, err = b.approve(Request{Auto: true})
	wantError(t, err, sandbox.Denied, "2 files are more than 1")
	b.discard("g")
	b.write(".envrc", "x")
	_, err = b.approve(Request{Auto: true})
	wantError(t, err, sandbox.Denied, "is flagged")
	b.discard(".envrc")
	same(t, b.mustApprove(Request{Auto: true}).Applied, []string{"f"})
}

func TestAllowedPathsOnly(t *testing.T) {
	b := newBox(t, nil)
	b.policy.Allow, b.policy.NoBinary = []string{"src/**"}, true
	b.write("src/a", "1")
	b.write("src/bin", "\x00")
	b.write("other", "1")
	same(t, b.mustApprove(Request{}).Applied, []string{"src", "src/a"})
}

// TestBookFails: when the outcome cannot be written down the journal stays, and
// the recovery tells of it.
func TestBookFails(t *testing.T) {
	b := newBox(t, map[string]string{"f": "1"})
	b.write("f", "2")
	broken := errors.New("no store")
	if _, err := b.approve(Request{Actor: "me", Book: func(_ context.Context, _ *Result) error { return broken }}); !errors.Is(err, broken) {
		t.Error(err)
	}
	i, err := Settle(b.config().Home, "0123")
	must(t, err)
	if !i.Completed || i.Actor != "me" || len(i.Paths) != 1 || !strings.Contains(i.Message(), "was completed") {
		t.Errorf("%+v: %s", i, i.Message())
	}
	must(t, i.Forget())
	same(t, b.read("f"), "2")
	same(t, b.pending(), []string{})
	same(t, len(Journals(b.config().Home)), 0)
}

// operation changes something in a tree.
func operation(t *rapid.T, root string) {
	names := []string{"a", "b", "c", "d/a", "d/b", "d/e/f", "g/h"}
	p := filepath.Join(root, rapid.SampledFrom(names).Draw(t, "path"))
	_ = os.MkdirAll(filepath.Dir(p), 0o755) // a file in the way: then this does nothing
	switch rapid.IntRange(0, 5).Draw(t, "operation") {
	case 0, 1, 2:
		edits := map[int]string{}
		for range rapid.IntRange(1, 5).Draw(t, "edits") {
			edits[rapid.IntRange(1, 60).Draw(t, "line")] = rapid.StringMatching(`[a-z]{0,3}`).Draw(t, "text")
		}
		text := lines(1, rapid.IntRange(0, 60).Draw(t, "length"), edits)
		if rapid.Bool().Draw(t, "newline") {
			text = strings.TrimSuffix(text, "\n")
		}
		_ = os.WriteFile(p, []byte(text), 0o644)
	case 3:
		_ = os.RemoveAll(p)
	case 4:
		_ = os.Remove(p)
		_ = os.Symlink("target", p)
	case 5:
		if st, err := os.Lstat(p); err == nil && st.Mode().IsRegular() {
			_ = os.Chmod(p, st.Mode().Perm()^0o111)
		}
	}
}

// TestHunkByHunkInAnyOrder: approving the pieces in any order ends in the same
// tree as approving everything, and discarding everything changes nothing.
func TestHunkByHunkInAnyOrder(t *testing.T) {
	base := map[string]string{"a": lines(1, 60, nil), "b": lines(1, 30, nil), "d/a": "x\n", "d/e/f": lines(1, 5, nil)}
	rapid.Check(t, func(rt *rapid.T) {
		b := newBox(t, base)
		defer b.unmount()
		for range rapid.IntRange(1, 6).Draw(rt, "operations") {
			operation(rt, b.inside)
		}
		want := contents(t, b.inside)
		before := contents(t, b.project)
		if rapid.IntRange(0, 4).Draw(rt, "fate") == 0 {
			r := b.open()
			_, err := r.Discard(t.Context(), nil)
			r.Close()
			if err != nil {
				rt.Fatal(err)
			}
			same(t, contents(t, b.inside), before)
			same(t, contents(t, b.project), before)
			return
		}
		for range 200 {
			if !approveOne(rt, b) {
				break
			}
		}
		b.mustApprove(Request{Flagged: true})
		same(t, contents(t, b.project), want)
		same(t, b.pending(), []string{})
	})
}

// approveOne approves one random piece of what is pending.
func approveOne(rt *rapid.T, b *box) bool {
	r := b.open()
	defer r.Close()
	list, err := r.List(b.t.Context())
	if err != nil {
		rt.Fatal(err)
	}
	if len(list) == 0 {
		return false
	}
	c := list[rapid.IntRange(0, len(list)-1).Draw(rt, "which")]
	q := Request{Files: []string{c.Path}}
	if f, err := r.space.Diff(b.t.Context(), c, changes.NewBudget(changes.Limits{})); err == nil && len(f.Hunks) > 1 {
		n := rapid.IntRange(0, len(f.Hunks)-1).Draw(rt, "hunk")
		q = Request{Hunks: []HunkRef{{Path: c.Path, Index: n, ID: f.Hunks[n].ID()}}}
	}
	_, err = r.Approve(b.t.Context(), q)
	switch sandbox.CodeOf(err) {
	case sandbox.Conflict: // something it rests on has to be approved first
	default:
		if err != nil {
			rt.Fatal(err)
		}
	}
	return true
}

// TestRestoringNeverLeavesTheWorkspace: an agent that swaps directories for links
// while its changes are discarded spoils nothing but its own workspace.
func TestRestoringNeverLeavesTheWorkspace(t *testing.T) {
	b := newBox(t, map[string]string{"d/e/f": "base", "x": ""})
	outside := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(outside, "e"), 0o755))
	must(t, os.WriteFile(filepath.Join(outside, "e", "f"), []byte("precious"), 0o644))
	must(t, os.Symlink(outside, filepath.Join(b.inside, "evil")))
	stop := make(chan struct{})
	var agent sync.WaitGroup
	agent.Go(func() {
		root, err := os.Open(b.inside)
		if err != nil {
			return
		}
		defer root.Close()
		for {
			select {
			case <-stop:
				return
			default:
				_ = within.Rename(root, "d", "tmp")
				_ = within.Rename(root, "evil", "d")
				_ = within.Rename(root, "d", "evil")
				_ = within.Rename(root, "tmp", "d")
			}
		}
	})
	for i := range 100 {
		_ = os.WriteFile(filepath.Join(b.inside, "d", "e", "f"), []byte{byte(i)}, 0o644) // wherever that is now
		_ = os.WriteFile(filepath.Join(outside, "e", "f"), []byte("precious"), 0o644)
		r := b.open()
		_, _ = r.Discard(t.Context(), nil) // may fail: everything moves
		r.Close()
		same(t, contents(t, outside)["e/f"], `false "precious"`)
	}
	close(stop)
	agent.Wait()
	same(t, contents(t, b.project)["d/e/f"], `false "base"`)
}

// TestNamesThatCannotBeApplied: they do not keep the rest from being approved.
func TestNamesThatCannotBeApplied(t *testing.T) {
	b := newBox(t, nil)
	b.write("sub/.git", "gitdir: /evil") // a file: what a submodule has
	b.write(".coop-1", "ours?")
	b.write(strings.Repeat("d/", 300)+"f", "deep")
	b.write("fine", "ok")
	res := b.mustApprove(Request{})
	got := contents(t, b.project)
	for _, p := range []string{"sub/.git", ".coop-1"} {
		if _, there := got[p]; there {
			t.Errorf("%s was applied", p)
		}
		if _, err := b.approve(Request{Files: []string{p}}); sandbox.CodeOf(err) != sandbox.Denied {
			t.Errorf("%s: %v", p, err)
		}
	}
	same(t, got["fine"], `false "ok"`)
	if len(res.Notes) == 0 {
		t.Error("nothing is said of what was left out")
	}
}

// TestMuchContent: what does not fit into memory goes through a file.
func TestMuchContent(t *testing.T) {
	b := newBox(t, map[string]string{"text": lines(1, 3, nil)})
	big := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
	for i := range 70 {
		b.write("f"+string(rune('A'+i)), big)
	}
	b.write("huge", strings.Repeat(big, 3))
	b.write("text", lines(1, 3, map[int]string{2: "x"}))
	b.mustApprove(Request{})
	same(t, contents(t, b.project), contents(t, b.inside))
	left, err := filepath.Glob(filepath.Join(b.config().Dir, "scratch-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestSeenIsWhatArrives: a file the agent writes to between the look and the
// approve is refused, when the reviewer says what they saw.
func TestSeenIsWhatArrives(t *testing.T) {
	b := newBox(t, map[string]string{"f": "1"})
	b.write("f", "2")
	b.write("g", "2")
	look := func() map[string]string {
		r := b.open()
		defer r.Close()
		list, err := r.List(t.Context())
		must(t, err)
		out := map[string]string{}
		for _, c := range list {
			out[c.Path] = Fingerprint(r.project, r.layer, c)
		}
		return out
	}
	first := look()
	same(t, look(), first)
	b.later()
	b.write("f", "3")
	_, err := b.approve(Request{Seen: first})
	wantError(t, err, sandbox.Conflict, "another than it was")
	b.mustApprove(Request{Files: []string{"g"}, Seen: first})
	b.mustApprove(Request{Seen: look()})
	same(t, b.read("f"), "3")
}

// TestMountsInTheProject: what is mounted in the project is not part of it.
func TestMountsInTheProject(t *testing.T) {
	b := newBox(t, map[string]string{"sub/f": "under the mount"})
	b.write("sub/f", "agent")
	b.write("sub/new", "agent")
	other := filepath.Join(b.project, "sub")
	if err := unix.Mount("tmpfs", other, "tmpfs", 0, ""); err != nil {
		t.Skipf("needs a mount: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(other, unix.MNT_DETACH) })
	if res, err := b.approve(Request{}); err == nil {
		t.Errorf("%+v", res)
	}
	same(t, len(contents(t, other)), 1)
}

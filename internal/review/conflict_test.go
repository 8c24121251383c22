package review

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
)

// repo runs git as the person would.
func (b *box) repo(args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=Person", "-c", "user.email=p@example.org", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = b.project
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v: %s", args, err, out)
	}
	return string(out)
}

// newRepoBox is a box whose project is a repository with everything committed
// but what is in dirty.
func newRepoBox(t testing.TB, entries map[string]string) *box {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	b := newBox(t, entries)
	b.unmount()
	b.repo("init", "-q")
	b.repo("add", "-A")
	b.repo("commit", "-qm", "first")
	b.mount()
	must(t, RecordBaseline(b.project, b.config().Dir))
	b.born()
	return b
}

func (b *box) conflicts() map[string]string {
	b.t.Helper()
	r := b.open()
	defer r.Close()
	list, err := r.Conflicts(b.t.Context())
	must(b.t, err)
	out := map[string]string{}
	for _, c := range list {
		out[c.Path] = c.Resolution + " " + c.Base
	}
	return out
}

func TestConflicts(t *testing.T) {
	b := newRepoBox(t, map[string]string{
		"merges": lines(1, 20, nil), "clashes": lines(1, 20, nil), "untouched": "1\n", "deleted-here": "1\n",
		"deleted-there": "1\n", "touched": "1\n", "binary": "\x00\x01", "moved": lines(1, 20, nil),
	})
	b.write("merges", lines(1, 20, map[int]string{2: "agent"}))
	b.write("clashes", lines(1, 20, map[int]string{2: "agent"}))
	b.write("untouched", "2\n")
	b.write("touched", "2\n")
	b.write("binary", "\x00\x02")
	b.write("both-new", "agent\n")
	b.write("deleted-there", "agent\n")
	must(t, os.Remove(filepath.Join(b.inside, "deleted-here")))

	b.write("project/merges", lines(1, 20, map[int]string{19: "person"}))
	b.write("project/clashes", lines(1, 20, map[int]string{2: "person"}))
	b.write("project/touched", "1\n")
	b.write("project/binary", "\x00\x03")
	b.write("project/both-new", "person\n")
	b.write("project/deleted-here", "person\n")
	must(t, os.Remove(filepath.Join(b.project, "deleted-there")))

	same(t, b.conflicts(), map[string]string{
		"merges": "merges known", "clashes": "refused known", "binary": "refused known", "both-new": "refused absent",
		"deleted-here": "refused known", "deleted-there": "refused known",
	})
	was := contents(t, b.project)
	_, err := b.approve(Request{})
	wantError(t, err, sandbox.Conflict, "changed on both sides")
	var known *sandbox.Error
	if !errors.As(err, &known) || len(known.Details["conflicts"].([]Conflict)) != 6 {
		t.Errorf("%+v", known)
	}
	same(t, contents(t, b.project), was)

	res := b.mustApprove(Request{Files: []string{"merges", "untouched", "touched"}})
	same(t, res.Conflicts[0].Resolution, Merged)
	same(t, b.read("merges"), lines(1, 20, map[int]string{2: "agent", 19: "person"}))

	res = b.mustApprove(Request{Force: true})
	same(t, res.Remaining, 0)
	for _, c := range res.Conflicts {
		same(t, c.Resolution, Overwritten)
		if c.Path == "clashes" {
			data, err := os.ReadFile(c.Saved)
			must(t, err)
			same(t, string(data), lines(1, 20, map[int]string{2: "person"}))
		}
	}
	same(t, b.read("clashes"), lines(1, 20, map[int]string{2: "agent"}))
	same(t, b.pending(), []string{})
}

// TestAfterAMerge: the agent goes on from its own version, and what the person
// had written meanwhile is not undone by approving that.
func TestAfterAMerge(t *testing.T) {
	b := newRepoBox(t, map[string]string{"f": lines(1, 30, nil)})
	b.write("f", lines(1, 30, map[int]string{2: "agent"}))
	b.write("project/f", lines(1, 30, map[int]string{28: "person"}))
	b.mustApprove(Request{})
	b.write("f", lines(1, 30, map[int]string{2: "agent", 15: "again"}))
	same(t, b.conflicts(), map[string]string{"f": "merges known"})
	b.mustApprove(Request{})
	same(t, b.read("f"), lines(1, 30, map[int]string{2: "agent", 15: "again", 28: "person"}))
}

// TestOwnApprovalIsNoConflict: what we have put into the project ourselves is not
// somebody else's change.
func TestOwnApprovalIsNoConflict(t *testing.T) {
	b := newBox(t, map[string]string{"f": lines(1, 40, nil)})
	b.write("f", lines(1, 40, map[int]string{3: "x", 35: "y"}))
	b.mustApprove(Request{Hunks: []HunkRef{{Path: "f"}}})
	same(t, b.conflicts(), map[string]string{})
	b.mustApprove(Request{})
	b.write("f", lines(1, 40, map[int]string{3: "z"}))
	b.mustApprove(Request{})
	same(t, b.read("f"), lines(1, 40, map[int]string{3: "z"}))
}

// TestUnknownBase: without git there is nothing to merge with.
func TestUnknownBase(t *testing.T) {
	b := newBox(t, map[string]string{"f": lines(1, 20, nil)})
	b.write("f", lines(1, 20, map[int]string{2: "agent"}))
	b.write("project/f", lines(1, 20, map[int]string{19: "person"}))
	same(t, b.conflicts(), map[string]string{"f": "refused unknown"})
	r := b.open()
	list, err := r.Conflicts(t.Context())
	must(t, err)
	if !strings.Contains(list[0].SandboxDiff, "+agent") {
		t.Errorf("%+v", list[0])
	}
}

func TestRebase(t *testing.T) {
	b := newRepoBox(t, map[string]string{"merges": lines(1, 20, nil), "clashes": lines(1, 5, nil), "f": "1\n"})
	b.write("merges", lines(1, 20, map[int]string{2: "agent"}))
	b.write("clashes", lines(1, 5, map[int]string{2: "agent"}))
	b.write("f", "2\n")
	b.write("project/merges", lines(1, 20, map[int]string{19: "person"}))
	b.write("project/clashes", lines(1, 5, map[int]string{2: "person"}))
	b.later()
	res, err := b.open().Rebase(t.Context(), false)
	must(t, err)
	same(t, res.Merged, []string{"merges"})
	same(t, len(res.Conflicts), 1)
	data, err := os.ReadFile(filepath.Join(b.inside, "merges"))
	must(t, err)
	same(t, string(data), lines(1, 20, map[int]string{2: "agent", 19: "person"}))
	same(t, b.conflicts(), map[string]string{"clashes": "refused known"}) // with the base of before
	if _, err := b.open().Rebase(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	same(t, b.conflicts(), map[string]string{})
	b.mustApprove(Request{})
	same(t, b.read("clashes"), lines(1, 5, map[int]string{2: "agent"}))
	same(t, b.read("merges"), lines(1, 20, map[int]string{2: "agent", 19: "person"}))
}

// TestNewFilesInARemovedDirectory: what the person has added since is not removed
// with the directory.
func TestNewFilesInARemovedDirectory(t *testing.T) {
	b := newBox(t, map[string]string{"d/a": "1", "d/b": "2"})
	must(t, os.RemoveAll(filepath.Join(b.inside, "d")))
	b.write("project/d/mine", "3")
	_, err := b.approve(Request{Files: []string{"d"}})
	wantError(t, err, sandbox.Conflict, "d/mine")
	same(t, len(contents(t, b.project)), 5)
}

func TestCommit(t *testing.T) {
	b := newRepoBox(t, map[string]string{"f": "1\n", "gone": "1\n", "mine": "1\n", ".gitignore": "*.log\n", "sub/run": "x\n"})
	b.write("project/mine", "staged\n")
	b.repo("add", "mine")
	b.write("f", "2\n")
	b.write("new file\twith \"quotes\"", "n\n")
	b.write("out.log", "ignored\n")
	must(t, os.Remove(filepath.Join(b.inside, "gone")))
	must(t, os.Chmod(filepath.Join(b.inside, "sub/run"), 0o755))
	must(t, os.Symlink("f", filepath.Join(b.inside, "l")))
	res := b.mustApprove(Request{Commit: &Commit{Message: "{{.Sandbox}} changed {{.Files}}", Author: "coauthor"}})
	if len(res.Commit) != 40 || len(res.Notes) != 0 {
		t.Fatalf("%+v", res)
	}
	same(t, strings.TrimSpace(b.repo("rev-parse", "HEAD")), res.Commit)
	same(t, b.repo("log", "-1", "--format=%B"), "box changed 6\n\nCo-authored-by: box <box@coop.invalid>\n\n")
	same(t, b.repo("show", "--format=", "--name-status", "--no-renames"), "M\tf\nD\tgone\nA\tl\nA\t\"new file\\twith \\\"quotes\\\"\"\nM\tsub/run\n")
	same(t, b.repo("status", "--short"), "M  mine\n") // the person's own work, as it was
	same(t, strings.TrimSpace(b.repo("for-each-ref", "refs/coop")), "")

	b.write("f", "3\n")
	_, err := b.approve(Request{Commit: &Commit{Message: "{{.Nothing"}})
	wantError(t, err, sandbox.Invalid, "commit message")
	_, err = b.approve(Request{Commit: &Commit{Author: "who"}})
	wantError(t, err, sandbox.Invalid, "author")
	same(t, b.read("f"), "2\n")
	b.mustApprove(Request{Commit: &Commit{Author: "Somebody <s@example.org>"}})
	same(t, b.repo("log", "-1", "--format=%an %ae %s"), "Somebody s@example.org box: 1 files\n")
}

// TestCommitInASubdirectory: the project may be part of a larger repository, and
// the repository may have no commit yet.
func TestCommitInASubdirectory(t *testing.T) {
	b := newBox(t, map[string]string{"part/f": "1\n"})
	b.repo("init", "-q")
	c := b.config()
	c.Project = filepath.Join(b.project, "part")
	c.Layer.Dir = filepath.Join(b.upper(), "part")
	b.write("part/f", "2\n")
	r, err := Open(c)
	must(t, err)
	defer r.Close()
	res, err := r.Approve(t.Context(), Request{Commit: &Commit{}})
	must(t, err)
	same(t, b.repo("show", "--format=", "--name-only", res.Commit), "part/f\n")
	same(t, b.repo("status", "--short"), "")
}

// TestGitRunsNothing: a repository that an agent has prepared makes Coop's own
// git run nothing of it.
func TestGitRunsNothing(t *testing.T) {
	b := newRepoBox(t, map[string]string{"f": lines(1, 20, nil), ".gitattributes": "* filter=evil diff=evil merge=evil\n"})
	mark := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(t.TempDir(), "evil")
	must(t, os.WriteFile(evil, []byte("#!/bin/sh\ntouch "+mark+"\ncat\n"), 0o755))
	for _, key := range []string{
		"core.fsmonitor", "core.sshCommand", "core.editor", "core.pager", "core.askPass", "core.alternateRefsCommand",
		"filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command", "diff.external",
		"merge.evil.driver", "gpg.program", "gpg.ssh.program", "credential.helper", "uploadpack.packObjectsHook",
		"pager.log", "alias.cat-file", "alias.fast-import", "sequence.editor", "gc.recentObjectsHook",
	} {
		b.repo("config", key, evil)
	}
	for key, value := range map[string]string{
		"commit.gpgSign": "true", "filter.evil.required": "true", "core.hooksPath": filepath.Dir(evil), "remote.o.url": "ext::" + evil,
		"remote.o.promisor": "true", "extensions.partialClone": "o", "protocol.ext.allow": "always", "core.repositoryFormatVersion": "1",
	} {
		b.repo("config", key, value)
	}
	for _, hook := range []string{"post-commit", "pre-commit", "reference-transaction", "post-index-change", "prepare-commit-msg", "post-update", "pre-auto-gc", "fsmonitor-watchman"} {
		must(t, os.WriteFile(filepath.Join(filepath.Dir(evil), hook), []byte("#!/bin/sh\ntouch "+mark+"\n"), 0o755))
	}
	_ = os.Remove(mark) // the test's own git may have done it
	b.write("f", lines(1, 20, map[int]string{2: "agent"}))
	b.write("project/f", lines(1, 20, map[int]string{19: "person"}))
	b.write("new", "x\n")
	same(t, b.conflicts(), map[string]string{"f": "merges known"})
	res := b.mustApprove(Request{Flagged: true, Commit: &Commit{Message: "m"}})
	if res.Commit == "" {
		t.Errorf("%+v", res)
	}
	// A blob that is not there must not be fetched either.
	g := b.open().gitOf(filepath.Join(b.project, ".git"))
	if _, err := g.run(t.Context(), nil, "cat-file", "blob", strings.Repeat("12", 20)); err == nil {
		t.Error("a missing blob was found")
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("something of the repository was run")
	}
}

// TestHeadMoved: a commit somebody makes meanwhile is not lost; ours is not made.
func TestHeadMoved(t *testing.T) {
	b := newRepoBox(t, map[string]string{"f": "1\n"})
	b.write("f", "2\n")
	r := b.open()
	job, err := r.prepareCommit(t.Context(), Request{Commit: &Commit{}}, []string{"f"}, nil)
	must(t, err)
	b.repo("commit", "-q", "--allow-empty", "-m", "theirs")
	res := &Result{}
	r.finishCommit(context.Background(), job, res)
	if res.Commit != "" || len(res.Notes) != 1 || !strings.Contains(res.Notes[0], "not committed") {
		t.Errorf("%+v", res)
	}
	same(t, b.repo("log", "-1", "--format=%s"), "theirs\n")
}

// TestIndexVersions: what git writes, in each version, is read.
func TestIndexVersions(t *testing.T) {
	entries := map[string]string{}
	for _, p := range []string{"a", "ab", "abc", "dir/one", "dir/two", "dir/sub/three", strings.Repeat("long/", 40) + "x", "z"} {
		entries[p] = p
	}
	b := newRepoBox(t, entries)
	for _, version := range []string{"2", "3", "4"} {
		b.repo("update-index", "--index-version", version)
		if version == "3" {
			b.repo("update-index", "--skip-worktree", "abc") // needs the extended flags
		}
		f, err := os.Open(filepath.Join(b.project, ".git", "index"))
		must(t, err)
		wanted := map[string]bool{"nothing": true}
		for p := range entries {
			wanted[p] = true
		}
		found, err := findInIndex(f, 20, wanted)
		must(t, err)
		f.Close()
		same(t, len(found), len(entries))
		for p, x := range found {
			same(t, x.Hash, strings.TrimSpace(b.repo("rev-parse", ":"+p)))
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"))
	f.Add([]byte("DIRC\x00\x00\x00\x04\xff\xff\xff\xff" + strings.Repeat("\x80", 200)))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := filepath.Join(t.TempDir(), "index")
		must(t, os.WriteFile(p, data, 0o600))
		in, err := os.Open(p)
		must(t, err)
		defer in.Close()
		_, _ = findInIndex(in, 20, map[string]bool{"x": true}) // ends, whatever it says
	})
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte("00000000 begin {}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := filepath.Join(t.TempDir(), "journal")
		must(t, os.WriteFile(p, data, 0o600))
		if s, err := readJournal(p); err == nil && s != nil && s.check() != nil {
			t.Error("an unchecked journal")
		}
	})
}

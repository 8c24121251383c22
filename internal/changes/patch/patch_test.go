package patch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func all(int) bool { return true }

// texts are two texts with lines in common.
func texts(t *rapid.T) (old, new []byte) {
	line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n", "x\r\n", "\xff\xfe\n", "-- \n", "+++ b/x\n", "\\ No newline\n", "tail"})
	lines := rapid.SliceOfN(line, 0, 40)
	return join(lines.Draw(t, "old")), join(lines.Draw(t, "new"))
}

func join(lines []string) []byte { return []byte(strings.Join(lines, "")) }

func TestApplyGivesTheNewContent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := texts(t)
		checkDiff(t, old, new)
	})
}

type failer interface{ Fatalf(string, ...any) }

func checkDiff(t failer, old, new []byte) {
	hunks := Diff(old, new)
	got, err := Apply(old, hunks, all)
	if err != nil || !bytes.Equal(got, new) {
		t.Fatalf("%q → %q: %q, %v", old, new, got, err)
	}
	if got, err := Apply(old, hunks, func(int) bool { return false }); err != nil || !bytes.Equal(got, old) {
		t.Fatalf("none of %q → %q: %q, %v", old, new, got, err)
	}
	if bytes.Equal(old, new) != (len(hunks) == 0) {
		t.Fatalf("%q → %q: %d hunks", old, new, len(hunks))
	}
	for i, h := range hunks {
		if h.Index != i {
			t.Fatalf("hunk %d has index %d", i, h.Index)
		}
	}
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("a\nc"))
	f.Add([]byte(""), []byte("\n"))
	f.Add([]byte("\x00"), []byte("a"))
	f.Fuzz(func(t *testing.T, old, new []byte) { checkDiff(t, old, new) })
}

// TestOneHunkAtATime: hunks applied in any order, one by one with a new diff in
// between, end in the same text.
func TestOneHunkAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := texts(t)
		for !bytes.Equal(old, new) {
			hunks := Diff(old, new)
			n := rapid.IntRange(0, len(hunks)-1).Draw(t, "hunk")
			next, err := Apply(old, hunks, func(i int) bool { return i == n })
			if err != nil || bytes.Equal(next, old) {
				t.Fatalf("no progress: %v", err)
			}
			old = next
		}
	})
}

// TestBounded: texts made to be expensive cost no more steps than allowed, but
// for the one that goes over.
func TestBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := func() []byte {
		var b bytes.Buffer
		for range 1 << 16 {
			fmt.Fprintf(&b, "%d\n", r.IntN(50))
		}
		return b.Bytes()
	}
	old, new := noise(), noise()
	s := newSearch(number(split(string(old)), split(string(new))))
	s.run()
	if s.steps > 0 || s.steps < -2<<16 {
		t.Errorf("%d steps are left", s.steps)
	}
	checkDiff(t, old, new)
}

func TestShortest(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		want     string
	}{
		"one line":      {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nV\n6\n7\n8\n9\n", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+V\n 6\n 7\n 8\n"},
		"made":          {"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"emptied":       {"a", "", "@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"},
		"newline added": {"a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		"two hunks":     {"1\n\n\n\n\n\n\n\n2\n", "x\n\n\n\n\n\n\n\ny\n", "@@ -1,4 +1,4 @@\n-1\n+x\n \n \n \n@@ -6,4 +6,4 @@\n \n \n \n-2\n+y\n"},
		"joined":        {"1\n\n\n\n\n\n\n2\n", "x\n\n\n\n\n\n\ny\n", "@@ -1,8 +1,8 @@\n-1\n+x\n \n \n \n \n \n \n-2\n+y\n"},
	} {
		var got []byte
		for _, h := range Diff([]byte(c.old), []byte(c.new)) {
			got = h.append(got)
		}
		if string(got) != c.want {
			t.Errorf("%s:\n%s", name, got)
		}
	}
}

func TestApplyRefusesAnotherText(t *testing.T) {
	hunks := Diff([]byte("a\nb\n"), []byte("a\nc\n"))
	for _, other := range []string{"", "a\n", "a\nx\n", "x\na\nb\n"} {
		if _, err := Apply([]byte(other), hunks, all); err == nil {
			t.Errorf("applied to %q", other)
		}
	}
}

// files are the differences that git must understand, in one patch.
func files() []File {
	text := func(name, old, new string, from, to Mode) File {
		f := File{OldPath: name, NewPath: name, OldMode: from, NewMode: to, Old: []byte(old), New: []byte(new)}
		f.Hunks = Diff(f.Old, f.New)
		return f
	}
	binary := func(name, old, new string, from, to Mode) File {
		f := text(name, old, new, from, to)
		f.Hunks, f.Binary = nil, true
		return f
	}
	noise := make([]byte, 100_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	renamed := text("", "1\n2\n3\n4\n", "1\n2\n3\n5\n", Regular, Regular)
	renamed.OldPath, renamed.NewPath, renamed.Similarity = "dir/from here", "to/\"there\"\n", 75
	moved := File{OldPath: "link from", NewPath: "link to", OldMode: Symlink, NewMode: Symlink, Old: []byte("x"), New: []byte("x"), Similarity: 100}
	return []File{
		moved,
		text("plain", "a\nb\nc\n", "a\nB\nc\n", Regular, Regular),
		text("exec", "#!/bin/sh\n", "#!/bin/sh\n", Regular, Executable),
		text("exec+text", "a\n", "b\n", Executable, Regular),
		text("new empty", "", "", 0, Regular),
		text("gone empty", "", "", Regular, 0),
		text("new", "", "x\ny", 0, Executable),
		text("gone", "x\ny", "", Regular, 0),
		text("crlf", "a\r\nb\r\n", "a\r\nc\r\n", Regular, Regular),
		text("newline at the end", "a", "a\n", Regular, Regular),
		text("sp ace/тест\xff", "a\n", "b\n", Regular, Regular),
		text("tab\there", "", "b\n", 0, Regular),
		text("link", "old/target", "../new", Symlink, Symlink),
		text("new link", "", "target\nwith newline", 0, Symlink),
		text("file to link", "content\n", "target", Regular, Symlink),
		text("link to file", "target", "content\n", Symlink, Executable),
		binary("bin", "a\x00b", string(noise), Regular, Regular),
		binary("bin new", "", "\x00", 0, Regular),
		binary("bin gone", "\x00\x01", "", Regular, 0),
		renamed,
	}
}

func patchOf(list []File) []byte {
	var b []byte
	for _, f := range list {
		b = f.Append(b)
	}
	return b
}

// put makes one side of the differences on disk.
func put(t *testing.T, dir string, list []File, side func(File) (string, Mode, []byte)) {
	t.Helper()
	for _, f := range list {
		name, mode, content := side(f)
		if mode == 0 {
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if mode == Symlink {
			err = os.Symlink(string(content), path)
		} else {
			err = os.WriteFile(path, content, os.FileMode(mode&0o777))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func oldSide(f File) (string, Mode, []byte) { return f.OldPath, f.OldMode, f.Old }
func newSide(f File) (string, Mode, []byte) { return f.NewPath, f.NewMode, f.New }

// tree is what a directory holds, as text.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		if d.Type()&os.ModeSymlink != 0 {
			to, err := os.Readlink(p)
			fmt.Fprintf(&b, "%q -> %q\n", rel, to)
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(p)
		fmt.Fprintf(&b, "%q %o %x\n", rel, info.Mode()&0o111, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func run(t *testing.T, dir string, stdin []byte, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s\n%s", name, args, err, out, stdin[:min(len(stdin), 4000)])
	}
}

func TestGitApply(t *testing.T) {
	list := files()
	dir, want := t.TempDir(), t.TempDir()
	put(t, dir, list, oldSide)
	put(t, want, list, newSide)
	before := tree(t, dir)
	run(t, dir, patchOf(list), "git", "apply", "--whitespace=nowarn")
	if got, want := tree(t, dir), tree(t, want); got != want {
		t.Errorf("git apply made\n%s\nwant\n%s", got, want)
	}
	run(t, dir, patchOf(list), "git", "apply", "-R", "--whitespace=nowarn")
	if got := tree(t, dir); got != before {
		t.Errorf("git apply -R made\n%s\nwant\n%s", got, before)
	}
}

func TestPatchProgram(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("needs patch(1)")
	}
	var list []File
	for _, f := range files() {
		if !f.Binary { // patch(1) has no binary patches
			list = append(list, f)
		}
	}
	dir, want := t.TempDir(), t.TempDir()
	put(t, dir, list, oldSide)
	put(t, want, list, newSide)
	run(t, dir, patchOf(list), "patch", "-p1", "--quiet", "--no-backup-if-mismatch")
	if got, want := tree(t, dir), tree(t, want); got != want {
		t.Errorf("patch made\n%s\nwant\n%s", got, want)
	}
}

// TestSameAsGit: the text is git's own for changes with only one shortest form.
func TestSameAsGit(t *testing.T) {
	var list []File
	for _, f := range files() {
		if !f.Binary && f.OldPath == f.NewPath && f.OldMode.sameType(f.NewMode) && f.OldMode != 0 && f.NewMode != 0 {
			list = append(list, f)
		}
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a"), list, oldSide)
	put(t, filepath.Join(dir, "b"), list, newSide)
	for _, f := range list {
		cmd := exec.CommandContext(t.Context(), "git", "diff", "--no-index", "--full-index", "--no-prefix", "a/"+f.OldPath, "b/"+f.NewPath)
		cmd.Dir = dir
		out, _ := cmd.Output() // exit status 1: there are differences
		if got := f.Append(nil); string(got) != string(out) {
			t.Errorf("ours\n%s\ngit's\n%s", got, out)
		}
	}
}

func TestSummary(t *testing.T) {
	f := File{OldPath: "a\nb", NewPath: "a\nb", OldMode: Regular, NewMode: Regular, Summary: "too large"}
	if got := string(f.Append(nil)); got != "Not in this patch: \"a\\nb\" (too large)\n" {
		t.Errorf("%q", got)
	}
	list := []File{f}
	for _, more := range files() {
		list = append(list, more, f)
	}
	dir := t.TempDir()
	put(t, dir, files(), oldSide)
	run(t, dir, patchOf(list), "git", "apply", "--whitespace=nowarn")
}

func BenchmarkDiff(b *testing.B) {
	var old bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&old, "line %d of a large file\n", i)
	}
	new := bytes.ReplaceAll(old.Bytes(), []byte("99 of a"), []byte("99 of another"))
	b.SetBytes(int64(old.Len()))
	for b.Loop() {
		Diff(old.Bytes(), new)
	}
}

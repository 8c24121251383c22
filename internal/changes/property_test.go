package changes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/coop-dev/coop/internal/changes/patch"
)

// names are few, so that random operations meet each other, and odd.
var names = []string{"a", "b", "c d", "é", "x\n\xff", "-f", "z.txt", "\"q\\"}

func randomPath(t *rapid.T, label string) string {
	parts := rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, label)
	return filepath.Join(parts...)
}

func randomText(t *rapid.T) []byte {
	line := rapid.SampledFrom([]string{"one\n", "two\n", "three\r\n", "\n", "a longer line of text, to be similar\n", "nul\x00\n", "\xff\xfe\n", "no newline"})
	return []byte(strings.Join(rapid.SliceOfN(line, 0, 8).Draw(t, "text"), ""))
}

var fileModes = rapid.SampledFrom([]os.FileMode{0o644, 0o755, 0o600, 0o444})

var dirModes = rapid.SampledFrom([]os.FileMode{0o755, 0o700, 0o775})

// operation is something a program does to a tree. Errors are part of it: a path
// may be there already, or not be there, or be something else.
func operation(t *rapid.T, root string) {
	p := filepath.Join(root, randomPath(t, "path"))
	q := filepath.Join(root, randomPath(t, "other"))
	switch rapid.SampledFrom([]string{"write", "write", "append", "remove", "removeAll", "mkdir", "symlink", "rename", "rename", "move", "chmod", "touch", "link", "replace", "opaque"}).Draw(t, "op") {
	case "write":
		_ = os.MkdirAll(filepath.Dir(p), 0o755)
		_ = os.WriteFile(p, randomText(t), fileModes.Draw(t, "mode"))
	case "append":
		f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND|unix.O_NOFOLLOW, 0)
		if err == nil {
			_, _ = f.Write(randomText(t))
			f.Close()
		}
	case "remove":
		_ = os.Remove(p)
	case "removeAll":
		_ = os.RemoveAll(p)
	case "mkdir":
		_ = os.MkdirAll(p, 0o755)
		_ = chmodOf(p, true, dirModes.Draw(t, "mode"))
	case "symlink":
		_ = os.Symlink(rapid.SampledFrom([]string{"a", "../../etc/passwd", "/nowhere", "x\ny"}).Draw(t, "target"), p)
	case "rename":
		_ = os.Rename(p, q)
	case "move": // what mv does where a directory cannot be renamed
		if err := os.Rename(p, q); errors.Is(err, unix.EXDEV) {
			_ = exec.Command("mv", "-T", p, q).Run()
		}
	case "chmod":
		_ = chmodOf(p, false, fileModes.Draw(t, "mode"))
	case "touch": // copied up, and nothing else
		f, err := os.OpenFile(p, os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err == nil {
			f.Close()
		}
	case "link":
		_ = os.Link(p, q)
	case "replace": // another kind of thing at the same place
		if os.RemoveAll(p) == nil {
			_ = os.WriteFile(p, randomText(t), 0o644)
		}
	case "opaque": // made anew
		if st, err := os.Lstat(p); err == nil && st.IsDir() && os.RemoveAll(p) == nil {
			_ = os.Mkdir(p, 0o755)
		}
	}
}

// chmodOf changes the mode of a directory or of a file, never through a link.
func chmodOf(p string, dir bool, mode os.FileMode) error {
	st, err := os.Lstat(p)
	if err != nil || st.IsDir() != dir || st.Mode()&os.ModeSymlink != 0 {
		return err
	}
	return os.Chmod(p, mode)
}

// snapshot is a tree as a sorted text.
func snapshot(t fataler, root string, git bool) string {
	var lines []string
	err := filepath.WalkDir(root+"/.", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root+"/.", p)
		if err != nil || rel == "." || (git && d.IsDir()) {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line, err := describe(p, info, git)
		lines = append(lines, fmt.Sprintf("%q %s", rel, line))
		return err
	})
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func describe(p string, info fs.FileInfo, git bool) (string, error) {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(p)
		return fmt.Sprintf("-> %q", to), err
	case info.IsDir():
		return info.Mode().String(), nil
	}
	b, err := os.ReadFile(p)
	mode := info.Mode()
	if git {
		mode &= 0o100
	}
	return fmt.Sprintf("%v %q", mode, b), err
}

type fataler interface {
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// apply is the plainest way to carry a list of changes over to a tree.
func apply(w *Workspace, list []Change, dir string) error {
	contents := map[string][]byte{}
	for _, c := range list {
		if c.New.Mode.IsRegular() && c.New.Exists {
			f, err := w.OpenNew(c)
			if err != nil {
				return err
			}
			b, err := io.ReadAll(f)
			f.Close()
			if err != nil {
				return err
			}
			contents[c.Path] = b
		}
	}
	var gone []string
	for _, c := range list {
		if p := vacated(c); p != "" {
			gone = append(gone, p)
		}
	}
	sort.Sort(sort.Reverse(sort.StringSlice(gone))) // what is in a directory before the directory
	for _, p := range gone {
		if err := os.Remove(filepath.Join(dir, p)); err != nil {
			return err
		}
	}
	for _, c := range list {
		if err := bring(c, dir, contents[c.Path]); err != nil {
			return err
		}
	}
	for _, c := range slices.Backward(list) { // a directory may become unwritable
		if c.Kind == ModeOnly && c.New.Mode.IsRegular() {
			if err := alone(filepath.Join(dir, c.Path)); err != nil {
				return err
			}
		}
		if c.New.Exists && c.New.Mode.Type() != fs.ModeSymlink {
			if err := os.Chmod(filepath.Join(dir, c.Path), c.New.Mode.Perm()); err != nil {
				return err
			}
		}
	}
	return nil
}

// alone gives a file an inode of its own.
func alone(p string) error {
	b, err := os.ReadFile(p)
	if err != nil {
		return err
	}
	if err := os.Remove(p); err != nil {
		return err
	}
	return os.WriteFile(p, b, 0o600)
}

// vacated is the path at which something is no longer, or another thing.
func vacated(c Change) string {
	switch {
	case c.Kind == Deleted, c.Kind == Type, c.Kind == Modified: // never written to in place: it may have other names
		return c.Path
	case c.Kind == Renamed:
		return c.OldPath
	}
	return ""
}

func bring(c Change, dir string, content []byte) error {
	p := filepath.Join(dir, c.Path)
	switch {
	case c.Kind == ModeOnly || !c.New.Exists:
		return nil
	case c.New.Mode.IsDir():
		return os.Mkdir(p, 0o700)
	case c.New.Mode.Type() == fs.ModeSymlink:
		return os.Symlink(c.New.Link, p)
	}
	return os.WriteFile(p, content, 0o600)
}

// TestDiffIsExact: whatever programs do in a workspace, the list of changes,
// applied to the original, gives their tree; so does git apply of the patch.
func TestDiffIsExact(t *testing.T) {
	drivers(t, func(t *testing.T, d driver) {
		checkDriver(t, d)
		top := tempDir(t, d)
		rapid.Check(t, func(rt *rapid.T) {
			dir, err := os.MkdirTemp(top, "")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(dir)
			_ = os.Mkdir(filepath.Join(dir, "project"), 0o755)
			for range rapid.IntRange(0, 12).Draw(rt, "setup") {
				operation(rt, filepath.Join(dir, "project"))
			}
			m, unmount, err := workspaceOf(dir, d)
			if err != nil {
				rt.Fatalf("%v", err)
			}
			defer unmount()
			for range rapid.IntRange(1, 12).Draw(rt, "operations") {
				operation(rt, m.merged)
			}
			checkExact(rt, m, dir)
		})
	})
}

func checkDriver(t *testing.T, d driver) {
	t.Helper()
	dir := tempDir(t, d)
	mkdir(t, filepath.Join(dir, "project"))
	_, unmount, err := workspaceOf(dir, d)
	if err != nil {
		need(t, "overlayfs over "+os.TempDir(), err)
	}
	unmount()
}

func checkExact(t *rapid.T, m *mounted, dir string) {
	w, err := Open(m.project, m.layer())
	if err != nil {
		t.Fatalf("%v", err)
	}
	defer w.Close()
	list, err := w.List(context.Background(), Options{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	want := snapshot(t, m.merged, false)
	if any, err := w.Any(context.Background()); err != nil || any != (want != snapshot(t, m.project, false)) || any != (len(list) > 0) {
		t.Fatalf("any: %v, %v; list %+v", any, err, list)
	}
	copied := copyTree(t, m.project, filepath.Join(dir, "copy"))
	if err := apply(w, list, copied); err != nil {
		t.Fatalf("apply %v\nlist %+v", err, list)
	}
	if got := snapshot(t, copied, false); got != want {
		t.Fatalf("applied:\n%s\nwant:\n%s\nlist: %+v", got, want, list)
	}
	checkGit(t, w, m, list, dir)
}

func checkGit(t *rapid.T, w *Workspace, m *mounted, list []Change, dir string) {
	var text, late []byte
	err := w.Patch(context.Background(), list, Limits{}, func(c Change, f patch.File) error {
		if c.Late() {
			late = f.Append(late)
		} else {
			text = f.Append(text)
		}
		return nil
	})
	text = append(text, late...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if len(text) == 0 {
		return
	}
	appliers := []*exec.Cmd{exec.Command("git", "apply", "--whitespace=nowarn")}
	if _, err := exec.LookPath("patch"); err == nil && !beyondPatch(list, text) {
		appliers = append(appliers, exec.Command("patch", "-p1", "--quiet", "--no-backup-if-mismatch", "--force"))
	}
	for _, cmd := range appliers {
		checkApplied(t, m, text, dir, cmd)
	}
}

// beyondPatch: GNU patch has no binary patches and puts no file in the place of a
// directory or the reverse.
func beyondPatch(list []Change, text []byte) bool {
	return bytes.Contains(text, []byte("\nGIT binary patch\n")) ||
		slices.ContainsFunc(list, func(c Change) bool { return c.Kind == Type && (c.Old.Mode.IsDir() || c.New.Mode.IsDir()) })
}

// checkApplied: a program that takes patches makes the workspace's files out of
// the project's.
func checkApplied(t *rapid.T, m *mounted, text []byte, dir string, cmd *exec.Cmd) {
	copied := copyTree(t, m.project, filepath.Join(dir, filepath.Base(cmd.Path)))
	// git knows no empty directories: it does not clear one away for a file.
	if out, err := exec.Command("find", copied, "-mindepth", "1", "-type", "d", "-empty", "-delete").CombinedOutput(); err != nil {
		t.Fatalf("find: %v %s", err, out)
	}
	cmd.Dir, cmd.Stdin = copied, bytes.NewReader(text)
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", cmd, err, out, text)
	}
	if got, want := snapshot(t, copied, true), snapshot(t, m.merged, true); got != want {
		t.Fatalf("%s made:\n%s\nwant:\n%s\npatch:\n%s", cmd, got, want, text)
	}
}

func copyTree(t *rapid.T, from, to string) string {
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v %s", err, out)
	}
	return to
}

package volume

import (
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, what string, err error, code sandbox.Code) {
	t.Helper()
	if err == nil || sandbox.CodeOf(err) != code {
		t.Errorf("%s: %v (%s), want %s", what, err, sandbox.CodeOf(err), code)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func newShelf(t *testing.T) *Shelf {
	return &Shelf{Dir: filepath.Join(t.TempDir(), "volumes"), What: "volume", Root: os.Getuid() == 0}
}

func TestShelfFillsOnce(t *testing.T) {
	s := newShelf(t)
	calls := 0
	fill := func(_ context.Context, stage string) error {
		calls++
		return os.Mkdir(stage, 0o755)
	}
	for i := range 2 {
		dir, first, err := s.Use(t.Context(), "a", fill)
		must(t, err)
		dir.Close()
		if first != (i == 0) || calls != 1 {
			t.Errorf("use %d: first %v, %d calls", i, first, calls)
		}
	}
	must(t, s.Create("b"))
	wantCode(t, "create again", s.Create("b"), sandbox.Conflict)
	_, first, err := s.Use(t.Context(), "b", fill)
	must(t, err)
	if !first || calls != 2 {
		t.Errorf("one made by hand: first %v, %d calls", first, calls)
	}
	names, err := s.Names()
	if must(t, err); !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("names %q", names)
	}
}

// A fill that fails leaves nothing, and the next user tries again.
func TestShelfFailedFill(t *testing.T) {
	s := newShelf(t)
	boom := errors.New("boom")
	_, _, err := s.Use(t.Context(), "a", func(_ context.Context, stage string) error {
		put(t, stage+"/half", "x")
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.Dir)
	if must(t, err); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
	_, first, err := s.Use(t.Context(), "a", nil)
	if must(t, err); !first {
		t.Error("not first")
	}
}

// Files that somebody put into a volume made by hand are not replaced.
func TestShelfKeepsFilesOfPeople(t *testing.T) {
	s := newShelf(t)
	must(t, s.Create("a"))
	put(t, s.Path("a")+"/mine", "x")
	dir, _, err := s.Use(t.Context(), "a", func(_ context.Context, stage string) error { put(t, stage+"/seed", "y"); return nil })
	must(t, err)
	dir.Close()
	if _, err := os.Stat(s.Path("a") + "/mine"); err != nil {
		t.Error(err)
	}
}

func TestShelfDetachAndSweep(t *testing.T) {
	s := newShelf(t)
	must(t, s.Create("a"))
	finish, err := s.Detach("a")
	must(t, err)
	if _, err := s.Open("a"); sandbox.CodeOf(err) != sandbox.NotFound {
		t.Errorf("still there: %v", err)
	}
	must(t, finish())
	_, err = s.Detach("a")
	wantCode(t, "detach again", err, sandbox.NotFound)
	for _, left := range []string{".new-x", ".deleted-y"} {
		put(t, filepath.Join(s.Dir, left, "f"), "")
	}
	must(t, s.Sweep())
	entries, err := os.ReadDir(s.Dir)
	if must(t, err); len(entries) != 0 {
		t.Errorf("left: %v", entries)
	}
}

// tree is a workspace with a directory outside that nothing may reach.
func tree(t *testing.T) (*Tree, string) {
	t.Helper()
	s := newShelf(t)
	must(t, s.Create("w"))
	put(t, filepath.Join(filepath.Dir(s.Dir), "outside", "secret"), "secret")
	tr, err := s.Tree("w")
	must(t, err)
	t.Cleanup(func() { tr.Close() })
	return tr, s.Path("w")
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func TestTree(t *testing.T) {
	tr, dir := tree(t)
	must(t, tr.Mkdir("a/b/c", true))
	must(t, tr.Mkdir("a/b/c", true))
	wantCode(t, "mkdir again", tr.Mkdir("a", false), sandbox.Conflict)
	wantCode(t, "mkdir without parents", tr.Mkdir("x/y", false), sandbox.NotFound)
	must(t, tr.Write("/a/b/f", 0o600, text("one")))
	must(t, tr.Write("a/b/f", 0o644, text("two")))
	f, err := tr.Open("a/b/f")
	must(t, err)
	defer f.Close()
	b, err := io.ReadAll(f)
	if must(t, err); string(b) != "two" {
		t.Errorf("content %q", b)
	}
	if st, err := os.Stat(dir + "/a/b/f"); err != nil || st.Mode() != 0o600 {
		t.Errorf("a file keeps its mode: %v %v", st.Mode(), err)
	}
	must(t, tr.Rename("a/b/f", "a/g"))
	wantCode(t, "rename what is gone", tr.Rename("a/b/f", "a/h"), sandbox.NotFound)
	must(t, tr.Write("a/h", 0o644, text("")))
	wantCode(t, "rename over a file", tr.Rename("a/h", "a/g"), sandbox.Conflict)
	wantCode(t, "remove a full directory", tr.Remove("a", false), sandbox.Conflict)
	list, more, err := tr.List(t.Context(), ".", 9, 100)
	must(t, err)
	var paths []string
	for _, e := range list {
		paths = append(paths, e.Path)
		if e.UID != 0 && os.Getuid() == 0 {
			t.Errorf("%s belongs to %d inside", e.Path, e.UID)
		}
	}
	if got := strings.Join(paths, " "); got != "a a/b a/b/c a/g a/h" || more {
		t.Errorf("list %q %v", got, more)
	}
	if list, more, err := tr.List(t.Context(), ".", 9, 2); err != nil || len(list) != 2 || !more {
		t.Errorf("cut list: %d %v %v", len(list), more, err)
	}
	must(t, tr.Remove("a", true))
	wantCode(t, "remove again", tr.Remove("a", true), sandbox.NotFound)
}

// A write that breaks off leaves the old content and nothing else.
func TestTreeBrokenWrite(t *testing.T) {
	tr, dir := tree(t)
	must(t, tr.Write("f", 0o644, text("old")))
	boom := errors.New("boom")
	err := tr.Write("f", 0o644, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return boom
	})
	if !errors.Is(err, boom) {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if b, _ := os.ReadFile(dir + "/f"); string(b) != "old" || len(entries) != 1 {
		t.Errorf("content %q, %d entries", b, len(entries))
	}
}

// Nothing a sandbox leaves in a workspace leads out of it.
func TestTreeStaysInside(t *testing.T) {
	tr, dir := tree(t)
	outside := filepath.Join(filepath.Dir(filepath.Dir(dir)), "outside")
	must(t, os.Symlink(outside, dir+"/dir"))
	must(t, os.Symlink(outside+"/secret", dir+"/file"))
	must(t, os.Symlink("../../outside", dir+"/up"))
	must(t, os.Symlink("/proc/self/root", dir+"/magic"))
	must(t, syscall.Mkfifo(dir+"/fifo", 0o600))
	for _, p := range []string{"file", "dir/secret", "up/secret", "magic/etc/passwd", "fifo", "../w/file", "a/../../outside/secret", "", "\x00", "."} {
		if f, err := tr.Open(p); err == nil {
			t.Errorf("open %q", p)
			f.Close()
		}
		if err := tr.Write(p, 0o644, text("x")); err == nil {
			t.Errorf("write %q", p)
		}
	}
	for _, p := range []string{"dir/x", "up/x", "magic/tmp/x"} {
		if tr.Mkdir(p, true) == nil || tr.Write(p, 0o644, text("x")) == nil || tr.Rename("fifo", p) == nil || tr.Remove(p, true) == nil {
			t.Errorf("changed %q", p)
		}
	}
	if list, _, err := tr.List(t.Context(), "dir", 9, 9); err == nil {
		t.Errorf("listed %v", list)
	}
	must(t, tr.Remove("dir", true)) // the link, not what it leads to
	if b, err := os.ReadFile(outside + "/secret"); err != nil || string(b) != "secret" {
		t.Errorf("outside: %q %v", b, err)
	}
}

func TestOpenHost(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home := base + "/x/coop"
	put(t, home+"/coop.db", "")
	put(t, base+"/dir/file", "")
	must(t, os.Symlink(base+"/dir", base+"/link"))
	must(t, syscall.Mkfifo(base+"/fifo", 0o600))
	must(t, os.Symlink(home, base+"/homelink"))
	me := uint32(os.Getuid())
	for _, p := range []string{base + "/dir", base + "/dir/file"} {
		h, err := OpenHost(p, base+"/homelink", me)
		must(t, err)
		if h.Dir != strings.HasSuffix(p, "dir") || h.UID != me {
			t.Errorf("%s: %+v", p, h)
		}
		h.Close()
	}
	for p, code := range map[string]sandbox.Code{
		base + "/link": sandbox.Denied, base + "/link/file": sandbox.Denied, base + "/fifo": sandbox.Denied,
		base + "/nothing": sandbox.Invalid, base + "/dir/file/x": sandbox.Invalid,
		home: sandbox.Denied, home + "/coop.db": sandbox.Denied, base: sandbox.Denied, base + "/x": sandbox.Denied, "/": sandbox.Denied,
		"/proc/1": sandbox.Denied, "/dev/null": sandbox.Denied, "/sys/kernel": sandbox.Denied,
	} {
		_, err := OpenHost(p, base+"/homelink", me)
		wantCode(t, p, err, code)
	}
	_, err = OpenHost(base+"/dir", home, me+1)
	wantCode(t, "another's", err, sandbox.Denied)
}

func TestCheckWritable(t *testing.T) {
	for path, ok := range map[string]bool{"/h/.config/coop": false, "/h/.config": false, "/h/.config/coop/x": false, "/h": false, "/h/.config/coops": true, "/h/x": true} {
		if err := (&HostPath{Path: path}).CheckWritable("/h/.config/coop"); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A directory that is being filled is not removed under its maker.
func TestDetachWhileFilling(t *testing.T) {
	s := newShelf(t)
	_, _, err := s.Use(t.Context(), "a", func(context.Context, string) error {
		_, err := s.Detach("a")
		wantCode(t, "detach", err, sandbox.Conflict)
		return nil
	})
	must(t, err)
}

func TestKept(t *testing.T) {
	k := &Kept{Dir: filepath.Join(t.TempDir(), "persist"), Root: os.Getuid() == 0}
	if Key("/a") == Key("/b") || Key("/a/x") == Key("/b/x") || Key("volume:x") == Key("/x") || strings.ContainsAny(Key("/a/.. /\x1b"), "/. \x1b") {
		t.Error("keys")
	}
	seen := map[string]bool{}
	for _, c := range [][2]string{{".claude", "root"}, {".claude", "me"}, {".config/gh", ""}, {".config%2Fgh", ""}, {"a%@me", "root"}, {"a", "me"}} {
		f, err := k.Open("key", c[0], c[1])
		must(t, err)
		st, err := f.Stat()
		must(t, err)
		if seen[f.Name()] || st.Mode().Perm() != 0o700 || filepath.Dir(f.Name()) != filepath.Join(k.Dir, "key") {
			t.Errorf("%q: %s %v", c, f.Name(), st.Mode())
		}
		seen[f.Name()] = true
		f.Close()
	}
	put(t, filepath.Join(k.Dir, "key", ".claude", "x"), "")
	must(t, k.Tidy("key"))
	entries, err := os.ReadDir(filepath.Join(k.Dir, "key"))
	if must(t, err); len(entries) != 1 {
		t.Errorf("tidied: %v", entries)
	}
	must(t, k.Tidy("other"))
	finish, err := k.Detach("key")
	must(t, err)
	must(t, finish())
	if keys, err := k.Keys(); err != nil || len(keys) != 0 {
		t.Errorf("keys %v %v", keys, err)
	}
}

func TestPromote(t *testing.T) {
	c := &Caches{Dir: filepath.Join(t.TempDir(), "shared"), Root: os.Getuid() == 0}
	first, err := c.Open("~/.npm", func(int) error { return nil })
	must(t, err)
	first.Close()
	layer := t.TempDir()
	sum := sha512.Sum512([]byte("good"))
	name := hex.EncodeToString(sum[:])
	content := layer + "/_cacache/content-v2/sha512/" + name[:2] + "/" + name[2:4] + "/"
	put(t, content+name[4:], "good")
	put(t, content+"00", "evil")
	put(t, layer+"/a/b", "one")
	must(t, os.Chmod(layer+"/a/b", 0o4755|fs.ModeSetuid))
	for link, to := range map[string]string{"in": "a/b", "a/up": "../a/b", "abs": "/etc/passwd", "out": "../x", "a/out": "../../x", "a/sneaky": "x/../../../y"} {
		must(t, os.Symlink(to, filepath.Join(layer, link)))
	}
	must(t, syscall.Mkfifo(layer+"/fifo", 0o600))
	promote := func(replace bool) Promoted {
		t.Helper()
		f, err := os.Open(layer)
		must(t, err)
		defer f.Close()
		out, err := c.Promote(t.Context(), "~/.npm", Layer{Dir: f}, replace)
		must(t, err)
		return out
	}
	out := promote(false)
	refused := strings.Join(out.Refused, " ")
	if out.Added != 4 || out.Generation != 2 || refused != "_cacache/content-v2/sha512/"+name[:2]+"/"+name[2:4]+"/00 a/out a/sneaky abs fifo out" {
		t.Errorf("%+v", out)
	}
	now := c.generation("~/.npm", 2)
	if st, err := os.Stat(now + "/a/b"); err != nil || st.Mode() != 0o755 {
		t.Errorf("mode %v %v", st, err)
	}
	put(t, layer+"/a/b", "two")
	if out := promote(false); out.Added != 0 || out.Generation != 2 || out.Kept == 0 {
		t.Errorf("nothing new: %+v", out)
	}
	if out := promote(true); out.Generation != 3 {
		t.Errorf("replace: %+v", out)
	}
	for gen, want := range map[int]string{2: "one", 3: "two"} {
		if b, _ := os.ReadFile(c.generation("~/.npm", gen) + "/a/b"); string(b) != want {
			t.Errorf("generation %d: %q", gen, b)
		}
	}
	finish, err := c.Trim("~/.npm", func() (map[int]bool, bool, error) { return map[int]bool{2: true}, true, nil })
	must(t, err)
	must(t, finish())
	if list, _ := c.Generations("~/.npm"); !slices.Equal(list, []int{2, 3}) {
		t.Errorf("generations %v", list)
	}
	finish, err = c.Trim("~/.npm", func() (map[int]bool, bool, error) { return nil, false, nil })
	must(t, err)
	must(t, finish())
	if paths, _ := c.Paths(); len(paths) != 0 {
		t.Errorf("left %v", paths)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", ".", "/", "..", "a/../b", "a//b", "/a/./b/", "a\x00b", "...", "a/..b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		rel, err := clean(p)
		if err == nil && (strings.HasPrefix(rel, "/") || slices.Contains(strings.Split(rel, "/"), "..") || strings.ContainsRune(rel, 0)) {
			t.Errorf("%q became %q", p, rel)
		}
	})
}

func FuzzLeadsOut(f *testing.F) {
	f.Add("a/b", "../c")
	f.Add(".", "..")
	f.Fuzz(func(t *testing.T, dir, target string) {
		rel, err := clean(dir)
		if err != nil || strings.ContainsRune(target, 0) || leadsOut(rel, target) {
			return
		}
		if end := filepath.Clean(filepath.Join("/root", rel, target)); end != "/root" && !strings.HasPrefix(end, "/root/") {
			t.Errorf("%q in %q ends at %s", target, rel, end)
		}
	})
}

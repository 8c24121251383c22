package review

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

// before is the project of most tests.
func before() map[string]string {
	return map[string]string{
		"keep": "untouched", "edit": "old text", "run*": "#!old", "gone": "to be removed",
		"dir/inner": "in a directory", "dir/deep/er": "deeper", "old/a": "1", "old/sub/b": "2",
		"link -> keep": "", "tofile/x": "was a directory", "todir": "was a file", "mode": "same text",
	}
}

// edits is a request with everything in it.
func edits(t testing.TB, root string) []Edit {
	yes := true
	return []Edit{
		{Path: "edit", Action: PutFile, Body: text("new text"), Perm: 0o644, Seen: seen(t, root, "edit")},
		{Path: "run", Action: PutFile, Body: text("#!new"), Perm: 0o644, Exec: &yes, Seen: seen(t, root, "run")},
		{Path: "gone", Action: Remove, Seen: seen(t, root, "gone")},
		{Path: "old", Action: Remove, Seen: seen(t, root, "old")},
		{Path: "old/a", Action: Remove, Seen: seen(t, root, "old/a")},
		{Path: "dir/new", Action: PutFile, Body: text("fresh"), Perm: 0o666},
		{Path: "dir/inner", Action: PutFile, Body: text("inside"), Perm: 0o644, Seen: seen(t, root, "dir/inner")},
		{Path: "fresh", Action: MakeDir, Perm: 0o777},
		{Path: "fresh/a/b/c", Action: PutFile, Body: text("deep"), Perm: 0o755},
		{Path: "fresh/empty", Action: MakeDir, Perm: 0o700},
		{Path: "fresh/l", Action: PutLink, Target: "/etc/passwd"},
		{Path: "link", Action: PutLink, Target: "edit", Seen: seen(t, root, "link")},
		{Path: "tofile", Action: PutFile, Body: text("a file now"), Perm: 0o644, Seen: seen(t, root, "tofile")},
		{Path: "todir", Action: MakeDir, Perm: 0o755, Seen: seen(t, root, "todir")},
		{Path: "todir/in", Action: PutFile, Body: text("in it"), Perm: 0o644},
		{Path: "mode", Action: Chmod, Perm: 0o755, Seen: seen(t, root, "mode")},
	}
}

func after() map[string]string {
	return map[string]string{
		".": "drwxr-xr-x", "keep": "-rw-r--r-- ancient untouched", "edit": "-rw-r--r-- new text", "run": "-rwxr-xr-x #!new",
		"dir": "drwxr-xr-x", "dir/inner": "-rw-r--r-- inside", "dir/new": "-rw-r--r-- fresh",
		"dir/deep": "drwxr-xr-x ancient", "dir/deep/er": "-rw-r--r-- ancient deeper",
		"fresh": "drwxr-xr-x", "fresh/a": "drwxr-xr-x", "fresh/a/b": "drwxr-xr-x", "fresh/a/b/c": "-rwxr-xr-x deep",
		"fresh/empty": "drwx------", "fresh/l": "Lrwxrwxrwx -> /etc/passwd", "link": "Lrwxrwxrwx -> edit",
		"tofile": "-rw-r--r-- a file now", "todir": "drwxr-xr-x", "todir/in": "-rw-r--r-- in it", "mode": "-rwxr-xr-x ancient same text",
	}
}

func TestApplyEverything(t *testing.T) {
	root := t.TempDir()
	must(t, os.Chmod(root, 0o755))
	grow(t, root, before())
	a := applier(t, root)
	open, err := os.Open(filepath.Join(root, "edit"))
	must(t, err)
	defer open.Close()
	done, err := a.Apply(t.Context(), edits(t, root))
	must(t, err)
	same(t, look(t, root), after())
	data := make([]byte, 100)
	n, _ := open.Read(data)
	same(t, string(data[:n]), "old text") // who had it open keeps what it was
	if _, err := os.Stat(a.Journal); err != nil {
		t.Errorf("the journal must stay until Forget: %v", err)
	}
	must(t, done.Forget())
	if _, err := os.Stat(a.Journal); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if st := done.Now["edit"]; st.Size != 8 || st.Ino == 0 {
		t.Errorf("%+v", st)
	}
}

// refused runs a request that must fail and leave no trace.
func refused(t *testing.T, a *Applier, edits []Edit, code sandbox.Code, words string) {
	t.Helper()
	was := look(t, a.Path)
	_, err := a.Apply(t.Context(), edits)
	if err == nil || sandbox.CodeOf(err) != code || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v; want %s: %s", sandbox.CodeOf(err), err, code, words)
	}
	same(t, look(t, a.Path), was)
	if _, err := os.Stat(a.Journal); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a journal is left: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	fresh := func(path string) []Edit {
		return []Edit{{Path: "first", Action: PutFile, Body: text("1")}, {Path: path, Action: PutFile, Body: text("x"), Perm: 0o644}}
	}
	for name, c := range map[string]struct {
		prepare func(t *testing.T, root string)
		edits   func(t *testing.T, root string) []Edit
		code    sandbox.Code
		words   string
	}{
		"dot dot":         {nil, func(*testing.T, string) []Edit { return fresh("a/../../x") }, sandbox.Invalid, "not a path"},
		"absolute":        {nil, func(*testing.T, string) []Edit { return fresh("/etc/x") }, sandbox.Invalid, "not a path"},
		"empty":           {nil, func(*testing.T, string) []Edit { return fresh("") }, sandbox.Invalid, "not a path"},
		"nul":             {nil, func(*testing.T, string) []Edit { return fresh("a\x00b") }, sandbox.Invalid, "not a path"},
		"long name":       {nil, func(*testing.T, string) []Edit { return fresh(strings.Repeat("x", 256)) }, sandbox.Invalid, "not a path"},
		"long path":       {nil, func(*testing.T, string) []Edit { return fresh(strings.Repeat("x/", 2048)) }, sandbox.Invalid, "too long"},
		"deep path":       {nil, func(*testing.T, string) []Edit { return fresh(strings.Repeat("x/", 300) + "x") }, sandbox.Invalid, "too deep"},
		"git hook":        {nil, func(*testing.T, string) []Edit { return fresh(".git/hooks/post-commit") }, sandbox.Denied, "git"},
		"git, other case": {nil, func(*testing.T, string) []Edit { return fresh("sub/.GIT/config") }, sandbox.Denied, "git"},
		"our own names":   {nil, func(*testing.T, string) []Edit { return fresh(".coop-1/x") }, sandbox.Denied, "Coop's own"},
		"through a link":  {func(t *testing.T, root string) { must(t, os.Symlink("/tmp", root+"/out")) }, func(*testing.T, string) []Edit { return fresh("out/x") }, sandbox.Conflict, "not a directory"},
		"through a file":  {nil, func(*testing.T, string) []Edit { return fresh("keep/x") }, sandbox.Conflict, "not a directory"},
		"not seen":        {nil, func(*testing.T, string) []Edit { return fresh("keep") }, sandbox.Conflict, "changed in the project meanwhile"},
		"seen otherwise": {nil, func(t *testing.T, root string) []Edit {
			e := fresh("keep")
			e[1].Seen = seen(t, root, "edit")
			return e
		}, sandbox.Conflict, "meanwhile"},
		"gone meanwhile": {nil, func(t *testing.T, root string) []Edit {
			e := fresh("nothing")
			e[1].Seen = seen(t, root, "edit")
			return e
		}, sandbox.Conflict, "meanwhile"},
		"read-only file":   {func(t *testing.T, root string) { must(t, os.Chmod(root+"/edit", 0o444)) }, editOnly, sandbox.Denied, "read-only"},
		"hard link":        {func(t *testing.T, root string) { must(t, os.Link(root+"/edit", root+"/edit2")) }, editOnly, sandbox.Denied, "hard links"},
		"read-only folder": {func(t *testing.T, root string) { must(t, os.Chmod(root+"/dir", 0o555)) }, func(*testing.T, string) []Edit { return fresh("dir/x") }, sandbox.Denied, "read-only"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			grow(t, root, before())
			if c.prepare != nil {
				c.prepare(t, root)
			}
			refused(t, applier(t, root), c.edits(t, root), c.code, c.words)
		})
	}
}

func editOnly(t *testing.T, root string) []Edit {
	return []Edit{{Path: "edit", Action: PutFile, Body: text("x"), Seen: seen(t, root, "edit")}}
}

func TestForceReplacesProtectedFiles(t *testing.T) {
	root := t.TempDir()
	grow(t, root, before())
	must(t, os.Chmod(filepath.Join(root, "edit"), 0o444))
	must(t, os.Link(filepath.Join(root, "edit"), filepath.Join(root, "edit2")))
	a := applier(t, root)
	a.Force = true
	done, err := a.Apply(t.Context(), editOnly(t, root))
	must(t, err)
	must(t, done.Forget())
	got := look(t, root)
	same(t, got["edit"], "-r--r--r-- x")
	same(t, got["edit2"], "-r--r--r-- ancient old text")
}

// TestKeep: a directory with something in it that nobody decided about stays.
func TestKeep(t *testing.T) {
	root := t.TempDir()
	grow(t, root, before())
	a := applier(t, root)
	a.Keep = func(p string, _ within.Stat) string {
		if p == "old/sub/b" {
			return "is new"
		}
		return ""
	}
	refused(t, a, []Edit{{Path: "old", Action: Remove, Seen: seen(t, root, "old")}}, sandbox.Conflict, `"old/sub/b" in it is new`)
}

// TestChangedBetweenLookAndSwap: what somebody writes at the last moment is not lost.
func TestChangedBetweenLookAndSwap(t *testing.T) {
	for _, change := range []struct {
		name string
		do   func(t *testing.T, root string)
	}{
		{"written in place", func(t *testing.T, root string) { must(t, os.WriteFile(root+"/edit", []byte("mine"), 0o644)) }},
		{"replaced", func(t *testing.T, root string) {
			must(t, os.WriteFile(root+"/mine", []byte("mine"), 0o644))
			must(t, os.Rename(root+"/mine", root+"/edit"))
		}},
		{"removed", func(t *testing.T, root string) { must(t, os.Remove(root+"/edit")) }},
		{"made", func(t *testing.T, root string) { must(t, os.WriteFile(root+"/fresh", []byte("mine"), 0o644)) }},
	} {
		t.Run(change.name, func(t *testing.T) {
			root := t.TempDir()
			grow(t, root, before())
			a := applier(t, root)
			list := edits(t, root)
			var want map[string]string
			a.step = func(what string) {
				if what == "journal staged" {
					change.do(t, root)
					want = look(t, root)
					for name := range want {
						if strings.Contains(name, tmpPrefix) {
							delete(want, name)
						}
					}
				}
			}
			_, err := a.Apply(t.Context(), list)
			if sandbox.CodeOf(err) != sandbox.Conflict {
				t.Errorf("%v", err)
			}
			got := look(t, root)
			for _, m := range []map[string]string{got, want} { // their times are restored, or not, beside the point
				m["."], m["dir"] = "", ""
			}
			same(t, got, want)
		})
	}
}

// TestDiskErrors: an error at any operation rolls back. A file-size limit
// stands for a full disk, which needs a filesystem of its own.
func TestCancelledRequest(t *testing.T) {
	root := t.TempDir()
	grow(t, root, before())
	a := applier(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	list := edits(t, root)
	n := 0
	a.step = func(string) {
		if n++; n == 8 {
			cancel()
		}
	}
	was := look(t, root)
	if _, err := a.Apply(ctx, list); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	same(t, look(t, root), was)
}

// TestFullDisk: on a small tmpfs the request ends with one line and no trace.
func TestFullDisk(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("needs a mount of its own: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	grow(t, root, before())
	list := append(edits(t, root), Edit{Path: "zzz", Action: PutFile, Body: text("%s", strings.Repeat("x", 900<<10))})
	refused(t, applier(t, root), list, sandbox.Unavailable, "disk is full")
	must(t, unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	refused(t, applier(t, root), edits(t, root), sandbox.Denied, "read-only filesystem")
}

// TestOwnerIsKept: real root gives new files to the owner of their directory and
// keeps the owner of replaced ones; what the sandbox's ids are plays no part.
func TestOwnerIsKept(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	root := t.TempDir()
	grow(t, root, before())
	must(t, os.Lchown(filepath.Join(root, "dir"), 1234, 2345))
	must(t, os.Lchown(filepath.Join(root, "edit"), 3456, 4567))
	must(t, unix.Setxattr(filepath.Join(root, "edit"), "user.mine", []byte("kept"), 0))
	must(t, unix.Setxattr(filepath.Join(root, "edit"), "user.overlay.origin", []byte("not kept"), 0))
	a := applier(t, root)
	a.Chown = true
	done, err := a.Apply(t.Context(), []Edit{
		{Path: "dir/new/file", Action: PutFile, Body: text("x")},
		{Path: "dir/l", Action: PutLink, Target: "x"},
		{Path: "edit", Action: PutFile, Body: text("x"), Seen: seen(t, root, "edit")},
		{Path: "dir/was", Action: PutFile, Body: text("x"), From: "edit"},
	})
	must(t, err)
	must(t, done.Forget())
	for p, want := range map[string]uint32{"dir/new": 1234, "dir/new/file": 1234, "dir/l": 1234, "edit": 3456, "dir/was": 3456} {
		if st := seen(t, root, p); st.UID != want || st.GID != want+1111 {
			t.Errorf("%s belongs to %d:%d", p, st.UID, st.GID)
		}
	}
	buf := make([]byte, 10)
	if n, err := unix.Getxattr(filepath.Join(root, "edit"), "user.mine", buf); err != nil || string(buf[:n]) != "kept" {
		t.Errorf("%q, %v", buf, err)
	}
	if _, err := unix.Getxattr(filepath.Join(root, "edit"), "user.overlay.origin", buf); !errors.Is(err, unix.ENODATA) {
		t.Error(err)
	}
}

// TestSwappedParents: while somebody turns a directory into a link to the
// outside and back, requests succeed or fail, and nothing arrives outside.
func TestSwappedParents(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	grow(t, root, map[string]string{"d/sub/file": "0", "x": ""})
	must(t, os.MkdirAll(filepath.Join(outside, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(outside, "sub", "file"), []byte("precious"), 0o644))
	must(t, os.Symlink(outside, filepath.Join(root, "evil")))
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		dir, err := os.Open(root)
		if err != nil {
			return
		}
		defer dir.Close()
		for {
			select {
			case <-stop:
				return
			default:
				_ = within.Exchange(dir, "d", "evil")
			}
		}
	})
	applied := 0
	for i := range 300 {
		a := applier(t, root)
		list := []Edit{{Path: "d/sub/new", Action: PutFile, Body: text("%d", i)}, {Path: "d/tree/a", Action: PutFile, Body: text("%d", i)}}
		for j := range list {
			if st, err := within.LstatPath(a.Project, list[j].Path); err == nil {
				list[j].Seen = &st
			}
		}
		done, err := a.Apply(t.Context(), list)
		if err == nil {
			applied++
			if done.Forget() == nil {
				continue
			}
		}
		for { // a directory that is a link right now is recovered when it is one no more
			r, rerr := Recover(a.Journal)
			if rerr == nil {
				if r != nil {
					must(t, r.Forget())
				}
				break
			}
		}
	}
	close(stop)
	swapper.Wait()
	t.Logf("%d of 300 applied", applied)
	same(t, look(t, outside)["sub/file"], "-rw-r--r-- precious")
	if got := look(t, outside); len(got) != 3 {
		t.Errorf("outside has %v", got)
	}
}

func TestErrorsOfTheFilesystemHaveWords(t *testing.T) {
	for errno, code := range map[syscall.Errno]sandbox.Code{
		syscall.ENOSPC: sandbox.Unavailable, syscall.EDQUOT: sandbox.Unavailable, syscall.EROFS: sandbox.Denied,
		syscall.EACCES: sandbox.Denied, syscall.EPERM: sandbox.Denied, syscall.ELOOP: sandbox.Denied,
		syscall.EEXIST: sandbox.Conflict, syscall.ENOENT: sandbox.Conflict, syscall.EIO: sandbox.Internal,
	} {
		err := projectError(&fs.PathError{Op: "rename", Path: "x", Err: errno})
		if sandbox.CodeOf(err) != code || !errors.Is(err, errno) {
			t.Errorf("%s: %v", errno, err)
		}
	}
}

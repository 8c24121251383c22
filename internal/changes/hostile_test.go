package changes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if strings.HasPrefix(dir, "/proc/self/fd/") { // the child has no such descriptor
		cmd.Dir = fmt.Sprintf("/proc/%d/fd/%s", os.Getpid(), strings.TrimPrefix(dir, "/proc/self/fd/"))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// opens counts which files of a tree are opened while it watches.
type opens struct {
	fd   int
	dirs map[int32]string
}

func watch(t *testing.T, root string) *opens {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	o := &opens{fd, map[int32]string{}}
	err = filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		wd, err := unix.InotifyAddWatch(fd, p, unix.IN_OPEN|unix.IN_ACCESS)
		o.dirs[int32(wd)] = p
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// seen empties the queue: the files, without directories.
func (o *opens) seen(t *testing.T) map[string]bool {
	t.Helper()
	files := map[string]bool{}
	buf := make([]byte, 1<<16)
	for {
		n, err := unix.Read(o.fd, buf)
		if errors.Is(err, unix.EAGAIN) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < n; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&buf[at]))
			name := strings.TrimRight(string(buf[at+unix.SizeofInotifyEvent:at+unix.SizeofInotifyEvent+int(e.Len)]), "\x00")
			at += unix.SizeofInotifyEvent + int(e.Len)
			if e.Mask&unix.IN_Q_OVERFLOW != 0 {
				t.Fatal("too many opens to count")
			}
			if e.Mask&unix.IN_ISDIR == 0 {
				files[filepath.Join(o.dirs[e.Wd], name)] = true
			}
		}
	}
}

// TestOpensNothingUnchanged: the kernel counts what a diff opens in the project.
func TestOpensNothingUnchanged(t *testing.T) {
	merged(t, func(p string) {
		for d := range 20 {
			mkdir(t, fmt.Sprintf("%s/dir%d", p, d))
			for f := range 50 {
				write(t, fmt.Sprintf("%s/dir%d/file%d", p, d, f), fmt.Sprint("content ", d, " ", f))
			}
		}
	}, func(m *mounted) {
		write(t, m.merged+"/dir3/file4", "changed")
		write(t, m.merged+"/dir5/new", "new")
		run(t, m.merged, "chmod", "600", "dir7/file8")
		run(t, m.merged, "mv", "dir9/file9", "dir9/renamed")
	}, func(t *testing.T, m *mounted, w *Workspace) {
		o := watch(t, m.project)
		if _, err := os.ReadFile(m.project + "/dir0/file0"); err != nil || len(o.seen(t)) != 1 {
			t.Fatalf("the counter does not count: %v", err)
		}
		l := list(t, w, Options{})
		wantList(t, l, "modified dir3/file4; added dir5/new; mode dir7/file8; renamed dir9/renamed < dir9/file9 100%")
		b := NewBudget(Limits{})
		for _, c := range l {
			if _, err := w.Diff(t.Context(), c, b); err != nil {
				t.Fatal(err)
			}
		}
		changed := map[string]bool{m.project + "/dir3/file4": true, m.project + "/dir7/file8": true, m.project + "/dir9/file9": true}
		for f := range o.seen(t) {
			if !changed[f] {
				t.Errorf("opened %s", f)
			}
		}
	})
}

// TestNotesCannotBeForged: what a program inside can do to the attributes that
// say what is deleted, replaced and moved.
func TestNotesCannotBeForged(t *testing.T) {
	merged(t, func(p string) {
		mkdir(t, p+"/dir")
		write(t, p+"/dir/file", "text")
	}, func(m *mounted) {
		mkdir(t, m.merged+"/dir")
		for _, space := range []string{"user", "trusted"} {
			for name, value := range map[string]string{"opaque": "y", "redirect": "/../../etc", "metacopy": "", "whiteout": ""} {
				_ = unix.Setxattr(m.merged+"/dir", space+".overlay."+name, []byte(value), 0)
				_ = unix.Setxattr(m.merged+"/dir/file", space+".overlay."+name, []byte(value), 0)
			}
		}
		if m.driver != copies { // in a copy it is a device like any other
			_ = unix.Mknod(m.merged+"/dir/dev", unix.S_IFCHR, 0)
		}
	}, func(t *testing.T, m *mounted, w *Workspace) {
		wantList(t, list(t, w, Options{}), "")
	})
}

// TestForgedNotes: they are harmless even if somebody could write them.
func TestForgedNotes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root for trusted attributes")
	}
	outside := t.TempDir()
	write(t, outside+"/secret", "secret")
	for _, redirect := range []string{"/..", "/../..", "..", "/dir/../..", "a/b", "", "/", "//etc", ".", "/out", "out", "/file", "/none", "/dir/\x00", strings.Repeat("/x", 2100)} {
		project, upper := trees(t)
		link(t, outside, project+"/out")
		mkdir(t, upper+"/moved")
		if err := unix.Setxattr(upper+"/moved", "trusted.overlay.redirect", []byte(redirect), 0); err != nil {
			if errors.Is(err, unix.E2BIG) || errors.Is(err, unix.ENOSPC) {
				continue
			}
			t.Fatal(err)
		}
		w, err := Open(project, Layer{Dir: upper, Trusted: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(list(t, w, Options{})); got != "added moved" {
			t.Errorf("redirect %q: %s", redirect, got)
		}
		w.Close()
	}
}

func TestForeignNotesMeanNothing(t *testing.T) {
	project, upper := trees(t)
	mkdir(t, upper+"/dir")
	if os.Geteuid() == 0 {
		if err := unix.Setxattr(upper+"/dir", "trusted.overlay.opaque", []byte("y"), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Setxattr(upper+"/dir", "user.overlay.redirect", []byte("/"), 0); err != nil {
		t.Skip(err)
	}
	wantList(t, listed(t, project, upper, Options{}), "")
}

func TestWhiteoutFiles(t *testing.T) {
	project, upper := trees(t)
	mkdir(t, upper+"/dir")
	write(t, upper+"/dir/file", "")
	write(t, upper+"/file", "") // marked, but in a directory that is not
	for p, name := range map[string]string{"dir/file": "whiteout", "file": "whiteout", "dir": "opaque"} {
		if err := unix.Setxattr(filepath.Join(upper, p), "user.overlay."+name, []byte("x"), 0); err != nil {
			t.Skip(err)
		}
	}
	wantList(t, listed(t, project, upper, Options{}), "deleted dir/file; modified file")
}

func TestMetacopyIsRefused(t *testing.T) {
	project, upper := trees(t)
	write(t, upper+"/file", "\x00\x00\x00\x00")
	write(t, upper+"/new", "\x00\x00\x00\x00")
	for _, f := range []string{"file", "new"} {
		if err := unix.Setxattr(filepath.Join(upper, f), "user.overlay.metacopy", nil, 0); err != nil {
			t.Skip(err)
		}
	}
	l := listed(t, project, upper, Options{})
	wantList(t, l, "modified file refused; added new refused")
}

func TestRefusedKinds(t *testing.T) {
	project, upper := trees(t)
	fifo(t, upper+"/fifo")
	fifo(t, upper+"/file")
	if err := unix.Mknod(upper+"/socket", unix.S_IFSOCK|0o600, 0); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"setuid": os.ModeSetuid, "setgid": os.ModeSetgid, "sticky": os.ModeSticky} {
		write(t, filepath.Join(upper, name), "x")
		chmod(t, filepath.Join(upper, name), 0o755|mode)
	}
	mkdir(t, upper+"/inherited")
	chmod(t, upper+"/inherited", 0o755|os.ModeSetgid)
	want := "added fifo refused; type file refused; added inherited; added setgid refused; added setuid refused; added socket refused; added sticky refused"
	if os.Geteuid() == 0 {
		if err := unix.Mknod(upper+"/device", unix.S_IFCHR|0o600, 1<<8|3); err != nil {
			t.Fatal(err)
		}
		write(t, upper+"/capable", "x")
		if err := unix.Setxattr(upper+"/capable", "security.capability", []byte("\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"), 0); err != nil {
			t.Fatal(err)
		}
		want = "added capable refused; added device refused; " + want
	}
	wantList(t, listed(t, project, upper, Options{}), want)
}

// TestDeepTree: a tree deeper than any path can name does not end the diff.
func TestDeepTree(t *testing.T) {
	project, upper := trees(t)
	at, err := unix.Open(upper, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3000 {
		if err := unix.Mkdirat(at, "d", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(at, "d", unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(at)
		at = next
	}
	unix.Close(at)
	l := listed(t, project, upper, Options{})
	last := l[len(l)-1]
	if last.Refused == "" || len(last.Path) <= maxPath || len(l) > 2049 {
		t.Errorf("%d changes, the last of %d bytes: %q", len(l), len(last.Path), last.Refused)
	}
	run(t, upper, "rm", "-rf", "d") // RemoveAll of the test cannot
}

func TestLongNames(t *testing.T) {
	project, upper := trees(t)
	long := strings.Repeat("n", 255)
	write(t, filepath.Join(upper, long), "x")
	wantList(t, listed(t, project, upper, Options{}), "added "+long)
}

// TestSparseFiles: size is no measure of work.
func TestSparseFiles(t *testing.T) {
	project, upper := trees(t)
	const size = 8 << 40
	for _, f := range []string{project + "/same", upper + "/same", upper + "/new", project + "/other", upper + "/other"} {
		write(t, f, "head")
		if err := os.Truncate(f, size); err != nil {
			t.Skip(err)
		}
	}
	f, err := os.OpenFile(upper+"/other", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("!"), size-1); err != nil {
		t.Fatal(err)
	}
	f.Close()
	wantList(t, listed(t, project, upper, Options{}), "added new binary large; modified other binary large")
}

// TestSwaps: links, files and directories that change places while the layer is
// read lead nowhere.
func TestSwaps(t *testing.T) {
	project, upper := trees(t)
	outside := t.TempDir()
	for i := range 50 {
		write(t, fmt.Sprintf("%s/secret%d", outside, i), "secret")
	}
	mkdir(t, upper+"/a")
	write(t, upper+"/a/inner", "x")
	link(t, outside, upper+"/b")
	write(t, upper+"/c", "x")
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			for _, pair := range [][2]string{{"a", "b"}, {"b", "c"}} {
				_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(upper, pair[0]), unix.AT_FDCWD, filepath.Join(upper, pair[1]), unix.RENAME_EXCHANGE)
			}
		}
	})
	w, err := Open(project, Layer{Dir: upper})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for until := time.Now().Add(time.Second); time.Now().Before(until); {
		l, err := w.List(t.Context(), Options{})
		if err != nil {
			t.Fatalf("%v", err)
		}
		b := NewBudget(Limits{})
		for _, c := range l {
			f, err := w.Diff(t.Context(), c, b)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(c.Path, "secret") || strings.Contains(string(f.New), "secret") {
				t.Fatalf("outside: %+v", c)
			}
		}
	}
	close(stop)
	swapper.Wait()
}

// TestLive: a list of a workspace that is being written to comes to an end.
func TestLive(t *testing.T) {
	merged(t, func(p string) {
		for i := range 100 {
			mkdir(t, fmt.Sprintf("%s/d%d", p, i))
			write(t, fmt.Sprintf("%s/d%d/f", p, i), "x")
		}
	}, func(*mounted) {}, func(t *testing.T, m *mounted, w *Workspace) {
		stop := make(chan struct{})
		var writer sync.WaitGroup
		writer.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				d := fmt.Sprintf("%s/d%d", m.merged, i%100)
				_ = os.RemoveAll(d)
				_ = os.Mkdir(d, 0o755)
				_ = os.WriteFile(d+"/f", []byte(fmt.Sprint(i)), 0o644)
				_ = os.Rename(d+"/f", d+"/g")
			}
		})
		defer writer.Wait()
		defer close(stop)
		for until := time.Now().Add(time.Second); time.Now().Before(until); {
			if _, err := w.List(t.Context(), Options{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

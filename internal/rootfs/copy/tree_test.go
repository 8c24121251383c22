package copy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/changes/manifest"
	"github.com/coop-dev/coop/internal/sandbox"
)

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// project is a tree with everything a project may hold.
func project(t *testing.T) string {
	t.Helper()
	src := filepath.Join(t.TempDir(), "src")
	write(t, src+"/file", "text", 0o644)
	write(t, src+"/run", "#!/bin/sh", 0o755)
	write(t, src+"/dir/sub/deep", "deep", 0o400)
	write(t, src+"/odd\n\xff \"", "odd", 0o644)
	write(t, src+"/suid", "x", 0o755|fs.ModeSetuid)
	must(t, os.Mkdir(src+"/empty", 0o700))
	must(t, os.Symlink("../out", src+"/link"))
	must(t, os.Link(src+"/file", src+"/dir/again"))
	must(t, unix.Mkfifo(src+"/fifo", 0o640))
	must(t, unix.Mknod(src+"/socket", unix.S_IFSOCK|0o600, 0))
	must(t, os.Truncate(src+"/run", 1<<30))
	must(t, os.Chtimes(src+"/file", time.Time{}, time.Unix(1_000_000_000, 123_000)))
	must(t, os.Chtimes(src+"/dir", time.Time{}, time.Unix(1_100_000_000, 0)))
	must(t, os.Chmod(src+"/dir", 0o550))
	return src
}

func copyTree(ctx context.Context, t *testing.T, src, dst string) error {
	t.Helper()
	f, err := os.Open(src)
	must(t, err)
	defer f.Close()
	return Make(ctx, f, dst, dst+".manifest", nil)
}

// describe lists a tree with all that is kept. Sockets are not.
func describe(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	inodes := map[uint64]string{}
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		must(t, err)
		var st unix.Stat_t
		must(t, unix.Lstat(p, &st))
		rel, _ := filepath.Rel(root, p)
		if d.Type()&fs.ModeSocket != 0 {
			return nil
		}
		fmt.Fprintf(&b, "%q %o %d", rel, st.Mode&^unix.S_ISUID, st.Mtim.Nano())
		switch {
		case d.Type().IsRegular():
			first, ok := inodes[st.Ino]
			if !ok {
				first, inodes[st.Ino] = rel, rel
			}
			head := []byte("")
			if st.Size < 1<<20 {
				head, err = os.ReadFile(p)
				must(t, err)
			}
			fmt.Fprintf(&b, " %d %q as %s", st.Size, head, first)
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			fmt.Fprintf(&b, " -> %s", to)
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

func TestMake(t *testing.T) {
	src := project(t)
	dst := filepath.Join(t.TempDir(), "dst")
	must(t, copyTree(t.Context(), t, src, dst))
	if got, want := describe(t, dst), describe(t, src); got != want {
		t.Errorf("copied\n%s\nfrom\n%s", got, want)
	}
	var st unix.Stat_t
	must(t, unix.Stat(dst+"/run", &st))
	if st.Blocks*512 > 1<<20 {
		t.Errorf("a hole of a gigabyte takes %d blocks", st.Blocks)
	}
	must(t, unix.Stat(dst+"/suid", &st))
	if st.Mode&unix.S_ISUID != 0 {
		t.Error("setuid is kept")
	}
	checkManifest(t, dst)
}

func checkManifest(t *testing.T, dst string) {
	t.Helper()
	m, err := manifest.Open(dst + ".manifest")
	must(t, err)
	defer m.Close()
	for dir, name := range map[string]string{"": "file", "dir": "sub", "dir/sub": "deep"} {
		entries, ok, err := m.Dir(dir)
		var st unix.Stat_t
		must(t, unix.Lstat(filepath.Join(dst, dir, name), &st))
		if e := entries[name]; err != nil || !ok || e.Ino != st.Ino || e.CTime != st.Ctim.Nano() || e.MTime != st.Mtim.Nano() {
			t.Errorf("%s/%s: %+v, %v", dir, name, e, err)
		}
	}
	if _, ok, err := m.Dir("none"); ok || err != nil {
		t.Errorf("a directory that is not there: %v", err)
	}
}

// TestWritesLeaveATrace: the very next write after Make has another ctime.
func TestWritesLeaveATrace(t *testing.T) {
	src := filepath.Join(t.TempDir(), "src")
	write(t, src+"/f", "x", 0o644)
	for i := range 20 {
		dst := filepath.Join(t.TempDir(), "dst")
		must(t, copyTree(t.Context(), t, src, dst))
		must(t, os.WriteFile(dst+"/f", []byte("y"), 0o644))
		m, err := manifest.Open(dst + ".manifest")
		must(t, err)
		entries, _, err := m.Dir("")
		must(t, err)
		m.Close()
		var st unix.Stat_t
		must(t, unix.Stat(dst+"/f", &st))
		if entries["f"].CTime == st.Ctim.Nano() {
			t.Fatalf("round %d: the ctime is the same", i)
		}
	}
}

func TestNothingIsLeftOfAFailure(t *testing.T) {
	cause := errors.New("enough")
	cancelled, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	src := project(t)
	dst := filepath.Join(t.TempDir(), "dst")
	if err := copyTree(cancelled, t, src, dst); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
	if os.Geteuid() != 0 {
		must(t, os.Chmod(src+"/run", 0))
		if err := copyTree(t.Context(), t, src, dst); sandbox.CodeOf(err) != sandbox.Denied {
			t.Errorf("unreadable: %v", err)
		}
	}
	left, err := os.ReadDir(filepath.Dir(dst))
	if err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestGrowingFile: a file that never holds still is an error, not a torn copy.
func TestGrowingFile(t *testing.T) {
	src := filepath.Join(t.TempDir(), "src")
	write(t, src+"/f", strings.Repeat("x", 1<<20), 0o644)
	f, err := os.Open(src)
	must(t, err)
	defer f.Close()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := int64(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.Truncate(src+"/f", 1<<20+i%100)
			}
		}
	}()
	dst := filepath.Join(t.TempDir(), "dst")
	err = Make(t.Context(), f, dst, dst+".manifest", nil)
	close(stop)
	<-done
	if err != nil && !errors.Is(err, errMoving) {
		t.Error(err)
	}
}

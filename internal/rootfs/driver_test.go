package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/sandbox"
)

// driven is a workspace of one driver.
type driven struct {
	b    *Builder
	p    Params
	res  *Result
	root string // of the workspace, through its descriptor
}

func newDriven(t *testing.T, driver string) *driven {
	t.Helper()
	b, p := params(t, sandbox.ModeOverlay, true)
	p.Driver = driver
	write(t, p.Workspace.Path+"/dir/deep/file", "deep")
	if err := os.Symlink("file", p.Workspace.Path+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(p.Workspace.Path+"/file", time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	d := &driven{b: b, p: p}
	d.mount(t)
	return d
}

func (d *driven) mount(t *testing.T) {
	t.Helper()
	d.res = build(t, d.b, d.p)
	for _, m := range d.res.Mounts {
		if m.Target == d.p.Spec.Workspace.Path {
			d.root = fmt.Sprintf("/proc/self/fd/%d", d.res.Files[m.FD].Fd())
		}
	}
}

func (d *driven) layer() changes.Layer {
	l := changes.Layer{Dir: Layer(d.p.Dir), Trusted: d.b.Root}
	if d.p.Driver == Copy {
		l.Manifest = Manifest(d.p.Dir)
	}
	return l
}

// listed is what the workspace changed, in few words.
func (d *driven) listed(t *testing.T) string {
	t.Helper()
	w, err := changes.Open(d.p.Workspace.Path, d.layer())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	list, err := w.List(t.Context(), changes.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out string
	for _, c := range list {
		out += string(c.Kind) + " " + c.Path + "; "
	}
	return out
}

// TestDrivers is what every driver promises.
func TestDrivers(t *testing.T) {
	if !ready(t) {
		return
	}
	for _, driver := range []string{Overlay, Copy} {
		t.Run(driver, func(t *testing.T) {
			t.Run("shows", func(t *testing.T) { driverShows(t, newDriven(t, driver)) })
			t.Run("keeps", func(t *testing.T) { driverKeeps(t, newDriven(t, driver)) })
			t.Run("lists", func(t *testing.T) { driverLists(t, newDriven(t, driver)) })
			t.Run("fences", func(t *testing.T) { driverFences(t, newDriven(t, driver)) })
		})
	}
}

// driverShows: the project's files, with their times and modes, as the sandbox's own.
func driverShows(t *testing.T, d *driven) {
	for name, want := range map[string]string{"file": "original", "dir/deep/file": "deep", "link": "original"} {
		if b, err := os.ReadFile(filepath.Join(d.root, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	var st unix.Stat_t
	if err := unix.Lstat(d.root+"/file", &st); err != nil || st.Uid != d.p.IDBase || st.Mtim.Sec != 1e9 || st.Mode&0o777 != 0o644 {
		t.Errorf("%d %o %d, %v", st.Uid, st.Mode, st.Mtim.Sec, err)
	}
	if d.res.NoRepo != nil {
		t.Errorf("no original: %v", d.res.NoRepo)
	}
}

// driverKeeps: what is written survives, and never reaches the project.
func driverKeeps(t *testing.T, d *driven) {
	write(t, d.root+"/file", "changed")
	write(t, d.root+"/new/file", "new")
	if err := errors.Join(os.Remove(d.root+"/link"), os.RemoveAll(d.root+"/dir")); err != nil {
		t.Fatal(err)
	}
	d.res.Close()
	d.mount(t)
	for name, want := range map[string]string{"file": "changed", "new/file": "new"} {
		if b, err := os.ReadFile(filepath.Join(d.root, name)); err != nil || string(b) != want {
			t.Errorf("%s after a restart: %q, %v", name, b, err)
		}
	}
	for _, name := range []string{"link", "dir"} {
		if _, err := os.Lstat(filepath.Join(d.root, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is back: %v", name, err)
		}
	}
	for name, want := range map[string]string{"file": "original", "dir/deep/file": "deep"} {
		if b, err := os.ReadFile(filepath.Join(d.p.Workspace.Path, name)); err != nil || string(b) != want {
			t.Errorf("%s in the project: %q, %v", name, b, err)
		}
	}
	if _, err := os.Lstat(d.p.Workspace.Path + "/new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the project has a new file: %v", err)
	}
}

// driverLists: every driver gives the same list.
func driverLists(t *testing.T, d *driven) {
	if got := d.listed(t); got != "" {
		t.Fatalf("untouched: %s", got)
	}
	write(t, d.root+"/file", "changed")
	write(t, d.root+"/new/file", "something new")
	if err := errors.Join(os.Remove(d.root+"/link"), os.Chmod(d.root+"/dir/deep/file", 0o600)); err != nil {
		t.Fatal(err)
	}
	if got, want := d.listed(t), "mode dir/deep/file; modified file; deleted link; added new; added new/file; "; got != want {
		t.Errorf("%s", got)
	}
	write(t, d.root+"/file", "original")
	if err := errors.Join(os.RemoveAll(d.root+"/new"), os.Chmod(d.root+"/dir/deep/file", 0o644), os.Symlink("file", d.root+"/link")); err != nil {
		t.Fatal(err)
	}
	if got := d.listed(t); got != "" {
		t.Errorf("taken back: %s", got)
	}
}

func driverFences(t *testing.T, d *driven) {
	var st unix.Statfs_t
	if err := unix.Statfs(d.root, &st); err != nil || st.Flags&unix.ST_NOSUID == 0 || st.Flags&unix.ST_NODEV == 0 {
		t.Errorf("%#x, %v", st.Flags, err)
	}
}

// TestCopyWhereOverlayCannot: a directory that overlayfs refuses as a layer.
func TestCopyWhereOverlayCannot(t *testing.T) {
	if !ready(t) {
		return
	}
	b, p := params(t, sandbox.ModeOverlay, true)
	sys, err := os.Open("/proc/sys/debug")
	if err != nil {
		t.Skip(err)
	}
	p.Workspace.Dir.Close()
	p.Workspace.Dir, p.Workspace.Path = sys, "/proc/sys/debug"
	if err := b.Prepare(t.Context(), p, true); err != nil {
		t.Fatal(err)
	}
	_, err = b.Build(t.Context(), p)
	var refused *WorkspaceError
	if !errors.As(err, &refused) {
		t.Fatalf("overlay: %v", err)
	}
	p.Driver = Copy
	res := build(t, b, p)
	if res.NoRepo == nil {
		t.Error("the original is shown by an overlay all the same")
	}
}

// TestCopyOwners: what belongs to others is not given to the sandbox.
func TestCopyOwners(t *testing.T) {
	b, p := params(t, sandbox.ModeOverlay, false)
	if !b.Root {
		t.Skip("needs real root")
	}
	write(t, p.Workspace.Path+"/private", "another's")
	if err := os.Chown(p.Workspace.Path+"/private", 4321, 4321); err != nil {
		t.Fatal(err)
	}
	p.Driver, p.OwnerUID, p.OwnerGID = Copy, 1000, 100
	build(t, b, p)
	for name, want := range map[string][2]uint32{"file": {p.IDBase + 1000, p.IDBase + 100}, "private": {4321, 4321}} {
		var st unix.Stat_t
		if err := unix.Lstat(filepath.Join(Layer(p.Dir), name), &st); err != nil || st.Uid != want[0] || st.Gid != want[1] {
			t.Errorf("%s: %d:%d, %v", name, st.Uid, st.Gid, err)
		}
	}
}

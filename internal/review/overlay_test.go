package review

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/sandbox"
)

// box is a project with a real overlay over it, as a sandbox has.
type box struct {
	t       testing.TB
	dir     string
	project string
	inside  string // the workspace
	made    time.Time
	policy  sandbox.Review
}

func newBox(t testing.TB, entries map[string]string) *box {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for a mount of its own; the engine's tests do the same as an ordinary user")
	}
	dir := t.TempDir()
	b := &box{t: t, dir: dir, project: filepath.Join(dir, "project"), inside: filepath.Join(dir, "merged")}
	for _, d := range []string{b.project, b.inside, b.upper(), filepath.Join(dir, "work")} {
		must(t, os.Mkdir(d, 0o755))
	}
	grow(t, b.project, entries)
	b.mount()
	t.Cleanup(b.unmount)
	b.born()
	return b
}

func (b *box) upper() string { return filepath.Join(b.dir, "upper") }

func (b *box) mount() {
	b.t.Helper()
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", b.project, b.upper(), filepath.Join(b.dir, "work"))
	if err := unix.Mount("overlay", b.inside, "overlay", 0, options); err != nil {
		b.t.Skipf("needs an overlay here: %v", err)
	}
}

func (b *box) unmount() { _ = unix.Unmount(b.inside, unix.MNT_DETACH) }

// born is when the sandbox was made: after everything that is in the project.
// Inodes are stamped with the time of the last timer interrupt.
func (b *box) born() {
	b.t.Helper()
	probe := filepath.Join(b.dir, "probe")
	must(b.t, os.WriteFile(probe, nil, 0o600))
	b.made = time.Now()
	for { // until the kernel's clock has moved past it
		must(b.t, os.WriteFile(probe, []byte("x"), 0o600))
		if seen(b.t, b.dir, "probe").CTime.After(b.made) {
			return
		}
	}
}

// later waits until the clock of inodes is well past what has been written.
func (b *box) later() {
	b.t.Helper()
	was := b.made
	b.made = time.Now().Add(2 * tick)
	probe := filepath.Join(b.dir, "probe")
	for {
		must(b.t, os.WriteFile(probe, []byte("x"), 0o600))
		if seen(b.t, b.dir, "probe").CTime.After(b.made) {
			b.made = was
			return
		}
	}
}

func (b *box) config() Config {
	return Config{
		Sandbox: "0123", Name: "box", Project: b.project, Layer: changes.Layer{Dir: b.upper(), Trusted: true},
		Dir: filepath.Join(b.dir, "review"), Home: filepath.Join(b.dir, "home"), Made: b.made, Policy: b.policy, RealRoot: true,
		Mount: func(context.Context) (*os.File, error) { return os.Open(b.inside) },
	}
}

// open begins a request.
func (b *box) open() *Review {
	b.t.Helper()
	r, err := Open(b.config())
	must(b.t, err)
	b.t.Cleanup(r.Close)
	return r
}

func (b *box) approve(q Request) (*Result, error) {
	b.t.Helper()
	r := b.open()
	defer r.Close()
	return r.Approve(b.t.Context(), q)
}

func (b *box) mustApprove(q Request) *Result {
	b.t.Helper()
	res, err := b.approve(q)
	must(b.t, err)
	return res
}

func (b *box) discard(files ...string) *Discarded {
	b.t.Helper()
	r := b.open()
	defer r.Close()
	res, err := r.Discard(b.t.Context(), files)
	must(b.t, err)
	return res
}

func (b *box) pending() []string {
	b.t.Helper()
	r := b.open()
	defer r.Close()
	list, err := r.List(b.t.Context())
	must(b.t, err)
	out := []string{}
	for _, c := range list {
		if c.Pending() {
			out = append(out, string(c.Kind)+" "+c.Path)
		}
	}
	return out
}

// write writes a file in the workspace, or with "project/" in the project.
func (b *box) write(path, text string) {
	b.t.Helper()
	p := filepath.Join(b.inside, path)
	if rest, ok := strings.CutPrefix(path, "project/"); ok {
		p = filepath.Join(b.project, rest)
	}
	must(b.t, os.MkdirAll(filepath.Dir(p), 0o755))
	must(b.t, os.WriteFile(p, []byte(text), 0o644))
}

func (b *box) read(path string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.project, path))
	must(b.t, err)
	return string(data)
}

// contents is a tree without times and without the bits git does not know.
func contents(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		switch {
		case info.IsDir():
			out[rel] = "dir"
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			out[rel] = "-> " + target
			return err
		default:
			data, err := os.ReadFile(p)
			out[rel] = fmt.Sprintf("%v %q", info.Mode()&0o100 != 0, data)
			return err
		}
		return nil
	}))
	return out
}

func wantError(t testing.TB, err error, code sandbox.Code, words string) {
	t.Helper()
	if err == nil || sandbox.CodeOf(err) != code || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v; want %s: %s", sandbox.CodeOf(err), err, code, words)
	}
}

func lines(from, to int, other map[int]string) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		if s, ok := other[i]; ok {
			b.WriteString(s + "\n")
			continue
		}
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

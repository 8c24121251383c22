package unpack

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ready says whether the test can go on here: as root it can, for an ordinary
// user it runs once more in a user namespace with one id.
func ready(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() == 0 {
		return true
	}
	return !again(t)
}

// again runs the test once more in a user namespace with one id; it is false in
// there.
func again(t *testing.T) bool {
	t.Helper()
	if os.Getenv("COOP_TEST_INSIDE") == t.Name() {
		return false
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "COOP_TEST_INSIDE="+t.Name(), "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		if os.Getenv("CI") == "true" {
			t.Fatalf("needs user namespaces, which CI must have: %v", err)
		}
		t.Skipf("needs user namespaces: %v", err)
	case err != nil:
		t.Errorf("inside: %v\n%s", err, out)
	}
	return true
}

// inside says that only one id is there.
func inside() bool { return os.Getenv("COOP_TEST_INSIDE") != "" }

func options() Options {
	return Options{UserXattr: inside(), SingleID: inside(), Limits: DefaultLimits()}
}

// entry is a header with its content.
type entry struct {
	tar.Header
	content string
}

func file(name, content string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(content))}, content}
}

func dir(name string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}, ""}
}

func symlink(name, target string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777}, ""}
}

func hardlink(name, target string) entry {
	return entry{tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: target, Mode: 0o644}, ""}
}

// archive writes a tar.
func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := e.Header
		if len(h.PAXRecords) > 0 {
			h.Format = tar.FormatPAX
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// place is a directory to unpack into, beside things that must not change.
type place struct{ dir, outside string }

func makePlace(t testing.TB) place {
	t.Helper()
	top := t.TempDir()
	p := place{filepath.Join(top, "layer"), filepath.Join(top, "outside")}
	for _, d := range []string{p.dir, p.outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.outside, "sentinel"), []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// unchanged fails when anything beside the layer is not as it was.
func (p place) unchanged(t testing.TB) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.outside, "sentinel"))
	if err != nil || string(b) != "untouched" {
		t.Errorf("outside was touched: %q, %v", b, err)
	}
	st, err := os.Lstat(filepath.Join(p.outside, "sentinel"))
	if err != nil || st.Mode() != 0o600 || st.Sys().(*syscall.Stat_t).Nlink != 1 {
		t.Errorf("outside was changed: %v, %v", st, err)
	}
	for _, d := range []string{p.outside, filepath.Dir(p.outside)} {
		names, err := os.ReadDir(d)
		if want := map[string]int{p.outside: 1}[d]; err != nil || (want != 0 && len(names) != want) || len(names) > 2 {
			t.Errorf("%s holds %v, %v", d, names, err)
		}
	}
}

func (p place) unpack(t testing.TB, blob []byte) (Result, error) {
	t.Helper()
	return Layer(t.Context(), p.dir, bytes.NewReader(blob), int64(len(blob)), options())
}

func (p place) must(t testing.TB, entries ...entry) Result {
	t.Helper()
	r, err := p.unpack(t, archive(t, entries...))
	if err != nil {
		t.Fatal(err)
	}
	p.unchanged(t)
	return r
}

func (p place) read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		return strings.ReplaceAll(err.Error(), p.dir, "")
	}
	return string(b)
}

func (p place) stat(t testing.TB, name string) *unix.Stat_t {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(filepath.Join(p.dir, name), &st); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return &st
}

func (p place) attr(name, attr string) string {
	buf := make([]byte, 256)
	n, err := unix.Lgetxattr(filepath.Join(p.dir, name), attr, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

func (p place) isWhiteout(t testing.TB, name string) bool {
	t.Helper()
	st := p.stat(t, name)
	return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == 0
}

func opaqueName() string {
	if inside() {
		return "user.overlay.opaque"
	}
	return "trusted.overlay.opaque"
}

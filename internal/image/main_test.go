package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/sandbox"
)

const insideEnv = "COOP_TEST_INSIDE"

// TestMain goes into a user namespace unless it is root: layers have owners.
func TestMain(m *testing.M) {
	if os.Geteuid() == 0 || os.Getenv(insideEnv) != "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Println("needs user namespaces:", err)
		if os.Getenv("CI") == "true" {
			os.Exit(1)
		}
	}
}

func testIDs() IDs {
	if os.Getenv(insideEnv) != "" {
		return OneID
	}
	return RootIDs
}

// newStore is an empty one.
func newStore(t *testing.T) *Store {
	t.Helper()
	return openStore(t, t.TempDir())
}

func openStore(t *testing.T, home string) *Store {
	t.Helper()
	t.Setenv("HOME", home) // no credentials of who runs the tests
	t.Setenv("DOCKER_CONFIG", filepath.Join(home, "docker"))
	s := New(Options{Home: home, IDs: testIDs()})
	if err := s.Open(); err != nil {
		t.Fatal(err)
	}
	return s
}

// hub is a registry whose answers a test may spoil.
type hub struct {
	t    *testing.T
	host string

	mu       sync.Mutex
	spoil    func(w http.ResponseWriter, r *http.Request) bool // true: it has answered
	requests []string
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{t: t}
	real := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.requests = append(h.requests, r.Method+" "+r.URL.Path+" "+r.Header.Get("Range"))
		spoil := h.spoil
		h.mu.Unlock()
		if spoil != nil && spoil(w, r) {
			return
		}
		real.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	h.host = strings.TrimPrefix(srv.URL, "http://")
	return h
}

func (h *hub) setSpoil(f func(w http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spoil, h.requests = f, nil
}

// asked counts requests whose text contains all words.
func (h *hub) asked(words ...string) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.requests {
		all := true
		for _, w := range words {
			all = all && strings.Contains(r, w)
		}
		if all {
			n++
		}
	}
	return n
}

// push puts an image there.
func (h *hub) push(ref string, img v1.Image) string {
	h.t.Helper()
	r, err := name.ParseReference(h.host + "/" + ref)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := remote.Write(r, img); err != nil {
		h.t.Fatal(err)
	}
	return h.host + "/" + ref
}

// layerOf is a gzip layer with these files; a name that ends in / is a
// directory.
func layerOf(t testing.TB, files ...string) v1.Layer {
	t.Helper()
	return static.NewLayer(gzipped(t, tarOf(t, files...)), types.DockerLayer)
}

func tarOf(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(files[i+1]))}
		if strings.HasSuffix(files[i], "/") {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// layerWith is a layer whose claimed diffID may be wrong.
type layerWith struct {
	v1.Layer
	diffID v1.Hash
}

func (l layerWith) DiffID() (v1.Hash, error) { return l.diffID, nil }

// fixed computes the real diffID, which static layers do not.
func fixed(t testing.TB, l v1.Layer) v1.Layer {
	t.Helper()
	rc, err := l.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(rc)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.HasPrefix(raw, []byte{0x1f, 0x8b}) {
		gz, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if raw, err = io.ReadAll(gz); err != nil {
			t.Fatal(err)
		}
	}
	h, _, err := v1.SHA256(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return layerWith{l, h}
}

// imageWith is an image of this machine's kind.
func imageWith(t testing.TB, c v1.Config, layers ...v1.Layer) v1.Image {
	t.Helper()
	img := empty.Image
	var err error
	for _, l := range layers {
		if _, ok := l.(layerWith); !ok {
			l = fixed(t, l)
		}
		if img, err = mutate.AppendLayers(img, l); err != nil {
			t.Fatal(err)
		}
	}
	cf, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	cf = cf.DeepCopy()
	cf.OS, cf.Architecture, cf.Config = "linux", runtime.GOARCH, c
	if img, err = mutate.ConfigFile(img, cf); err != nil {
		t.Fatal(err)
	}
	return img
}

func (s *Store) mustPull(t *testing.T, ref string) Image {
	t.Helper()
	img, err := s.Pull(t.Context(), PullRequest{Reference: ref}, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// read reads a file as an overlay of the layers would show it, but for whiteouts.
func (s *Store) read(img Image, name string) string {
	for _, l := range s.LayerNames(img) {
		if b, err := os.ReadFile(filepath.Join(s.LayerDir(), l, name)); err == nil {
			return string(b)
		}
	}
	return ""
}

// clean fails unless nothing half done is left.
func (s *Store) clean(t *testing.T, parts int) {
	t.Helper()
	entries, err := os.ReadDir(s.tmp())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), partSuffix) {
			n++
			continue
		}
		t.Errorf("left behind: %s", e.Name())
	}
	if n != parts {
		t.Errorf("%d parts of blobs, not %d", n, parts)
	}
}

func wantCode(t *testing.T, err error, code sandbox.Code) {
	t.Helper()
	if err == nil || sandbox.CodeOf(err) != code {
		t.Errorf("%v (%s), not %s", err, sandbox.CodeOf(err), code)
	}
}

func pullErr(ctx context.Context, s *Store, ref string) error {
	_, err := s.Pull(ctx, PullRequest{Reference: ref}, func(Progress) {})
	return err
}

// Package images makes container images of busybox for tests and benchmarks,
// and serves them from a registry in this process. Nothing is downloaded.
package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// File is one entry of a layer.
type File struct {
	Name    string // a directory ends in /
	Content []byte
	Link    string // a symbolic link
	Mode    int64
	UID     int
}

// Layer packs files into a gzip layer.
func Layer(files ...File) (v1.Layer, error) {
	var b bytes.Buffer
	gz, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(gz)
	for _, f := range files {
		if err := add(w, f); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil })
}

func add(w *tar.Writer, f File) error {
	h := &tar.Header{Name: f.Name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(f.Content)), Uid: f.UID, Gid: f.UID}
	switch {
	case f.Link != "":
		h.Typeflag, h.Linkname = tar.TypeSymlink, f.Link
	case strings.HasSuffix(f.Name, "/"):
		h.Typeflag, h.Mode = tar.TypeDir, 0o755
	}
	if f.Mode != 0 {
		h.Mode = f.Mode
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(f.Content)
	return err
}

// Image stacks layers under a configuration.
func Image(c v1.Config, layers ...v1.Layer) (v1.Image, error) {
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	cf, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	cf = cf.DeepCopy()
	cf.OS, cf.Architecture, cf.Config = "linux", runtime.GOARCH, c
	return mutate.ConfigFile(img, cf)
}

// ErrNoBusybox says that busybox-static is not installed.
var ErrNoBusybox = errors.New("busybox is not installed")

// applets are the programs the images have.
var applets = []string{
	"cat", "chown", "cp", "du", "echo", "env", "find", "head", "id", "ls", "mkdir", "mv", "pwd", "rm", "sh", "sleep", "stat", "touch", "true", "wc",
}

// Busybox is a layer with a small system.
func Busybox() (v1.Layer, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, ErrNoBusybox
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := []File{
		{Name: "bin/"},
		{Name: "bin/busybox", Content: program, Mode: 0o755},
		{Name: "etc/"},
		{Name: "etc/os-release", Content: []byte("NAME=busybox\n")},
		{Name: "etc/passwd", Content: []byte("root:x:0:0::/root:/bin/sh\napp:x:1000:1000::/home/app:/bin/sh\n")},
		{Name: "etc/group", Content: []byte("root:x:0:\napp:x:1000:\n")},
		{Name: "etc/removed", Content: []byte("soon gone\n")},
		{Name: "opt/old/"},
		{Name: "opt/old/file", Content: []byte("hidden\n")},
		{Name: "home/app/", UID: 1000},
		{Name: "home/app/mine", UID: 1000, Content: []byte("mine\n"), Mode: 0o600},
		{Name: "root/", Mode: 0o700},
	}
	for _, a := range applets {
		files = append(files, File{Name: "bin/" + a, Link: "busybox"})
	}
	return Layer(files...)
}

// Registry serves images on loopback.
type Registry struct {
	Host   string
	server *httptest.Server
}

// Serve starts one. A handler before may answer in its place.
func Serve(before ...func(http.ResponseWriter, *http.Request) (answered bool)) *Registry {
	real := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, b := range before {
			if b(w, r) {
				return
			}
		}
		real.ServeHTTP(w, r)
	}))
	return &Registry{Host: strings.TrimPrefix(srv.URL, "http://"), server: srv}
}

// Close ends it.
func (r *Registry) Close() { r.server.Close() }

// Push puts an image there and gives its whole name.
func (r *Registry) Push(ref string, img v1.Image) (string, error) {
	whole := r.Host + "/" + ref
	n, err := name.ParseReference(whole)
	if err != nil {
		return "", err
	}
	return whole, remote.Write(n, img)
}

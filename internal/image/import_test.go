package image

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/zstd"

	"github.com/coop-dev/coop/internal/sandbox"
)

func (s *Store) tryImport(t *testing.T, source, ref string) (Image, error) {
	t.Helper()
	return s.Import(t.Context(), ImportRequest{Source: source, Reference: ref}, func(Progress) {})
}

// sample is an image of two layers.
func sample(t *testing.T) v1.Image {
	t.Helper()
	return imageWith(t, v1.Config{Cmd: []string{"tool"}}, layerOf(t, "f", "below", "g", "g"), layerOf(t, "f", "above"))
}

// tarDir packs a directory without compression.
func tarDir(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeFile(t *testing.T, name string, b []byte) string {
	t.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func makeLayout(t *testing.T, img v1.Image) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "layout")
	p, err := ocilayout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.AppendImage(img); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestImport(t *testing.T) {
	img := sample(t)
	oci := makeLayout(t, img)
	dir := t.TempDir()
	docker := filepath.Join(dir, "docker.tar")
	tag, err := name.NewTag("team/tool:7")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(docker, tag, img); err != nil {
		t.Fatal(err)
	}
	zw, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	rootfs := tarOf(t, "f", "above", "g", "g")
	for what, c := range map[string]struct{ source, ref, want string }{
		"layout":           {"oci:" + oci, "", "oci:" + oci},
		"layout, named":    {oci, "mine", "docker.io/library/mine:latest"},
		"OCI archive":      {writeFile(t, dir+"/oci.tar", tarDir(t, oci)), "", "tar:" + dir + "/oci.tar"},
		"OCI archive, gz":  {"tar:" + writeFile(t, dir+"/oci.tgz", gzipped(t, tarDir(t, oci))), "x:1", "docker.io/library/x:1"},
		"Docker archive":   {docker, "", "docker.io/team/tool:7"},
		"root filesystem":  {writeFile(t, dir+"/root.tar", rootfs), "r", "docker.io/library/r:latest"},
		"root fs, gzip":    {writeFile(t, dir+"/root.tgz", gzipped(t, rootfs)), "r", "docker.io/library/r:latest"},
		"root fs, zstd":    {writeFile(t, dir+"/root.zst", zw.EncodeAll(rootfs, nil)), "r", "docker.io/library/r:latest"},
		"root fs, no name": {dir + "/root.tar", "", "tar:" + dir + "/root.tar"},
	} {
		t.Run(what, func(t *testing.T) {
			s := newStore(t)
			got, err := s.tryImport(t, c.source, c.ref)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.References) != 1 || got.References[0] != c.want || s.read(got, "f") != "above" || s.read(got, "g") != "g" {
				t.Errorf("%+v: %q %q", got, s.read(got, "f"), s.read(got, "g"))
			}
			if _, err := s.Get(t.Context(), c.want); err != nil {
				t.Error(err)
			}
			s.clean(t, 0)
		})
	}
	// The same root filesystem is the same image however it was compressed.
	s := newStore(t)
	a, err := s.tryImport(t, dir+"/root.tar", "a")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := s.tryImport(t, dir+"/root.zst", "b"); err != nil || a.Digest != b.Digest || len(b.References) != 2 {
		t.Errorf("%v: %+v", err, b)
	}
}

func TestImportRefuses(t *testing.T) {
	dir := t.TempDir()
	oci := makeLayout(t, sample(t))
	broken := makeLayout(t, sample(t))
	blobs, err := filepath.Glob(filepath.Join(broken, "blobs/sha256/*"))
	if err != nil || len(blobs) == 0 {
		t.Fatal(err)
	}
	for _, b := range blobs {
		f, err := os.OpenFile(b, os.O_RDWR|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, " ")
		f.Close()
	}
	secret := writeFile(t, dir+"/secret", []byte("secret"))
	linked := filepath.Join(dir, "linked")
	if err := os.MkdirAll(linked, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(linked, "index.json")); err != nil {
		t.Fatal(err)
	}
	s := newStore(t)
	for what, c := range map[string]struct {
		source, ref string
		code        sandbox.Code
	}{
		"relative":            {"x.tar", "", sandbox.Invalid},
		"missing":             {dir + "/nothing", "", sandbox.Invalid},
		"directory as tar":    {"tar:" + oci, "", sandbox.Invalid},
		"file as layout":      {"oci:" + secret, "", sandbox.Invalid},
		"device":              {"/dev/zero", "", sandbox.Invalid},
		"noise":               {writeFile(t, dir+"/noise", bytes.Repeat([]byte("noise"), 1000)), "n", sandbox.Invalid},
		"bzip2":               {writeFile(t, dir+"/bz", []byte("BZh91AY&SY")), "n", sandbox.Unsupported},
		"damaged layout":      {"oci:" + broken, "", sandbox.Invalid},
		"link out of it":      {"oci:" + linked, "", sandbox.Invalid},
		"bad name":            {oci, "UPPER CASE", sandbox.Invalid},
		"empty directory":     {"oci:" + t.TempDir(), "", sandbox.Invalid},
		"hostile file system": {writeFile(t, dir+"/hostile.tar", tarOf(t, "../escaped", "x")), "h", sandbox.Invalid},
		"no such layer":       {writeFile(t, dir+"/d.tar", tarOf(t, "manifest.json", `[{"Config":"c.json","Layers":["l.tar"]}]`, "c.json", `{"rootfs":{"diff_ids":["sha256:`+hexOf(digestOf(nil))+`"]}}`)), "h", sandbox.Invalid},
	} {
		_, err := s.tryImport(t, c.source, c.ref)
		if err == nil || sandbox.CodeOf(err) != c.code {
			t.Errorf("%s: %v (%s)", what, err, sandbox.CodeOf(err))
		}
	}
	s.clean(t, 0)
}

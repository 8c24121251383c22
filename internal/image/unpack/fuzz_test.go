package unpack

import (
	"archive/tar"
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// FuzzLayer: whatever the bytes, the tree stays inside, holds no device but
// whiteouts. Making an input smaller takes long here: fuzz with
// -fuzzminimizetime 10x.
func FuzzLayer(f *testing.F) {
	if os.Geteuid() != 0 {
		f.Skip("needs root; the kernel's checks are the same for a user")
	}
	for _, seed := range [][]entry{
		{dir("d"), file("d/f", "x"), symlink("l", "d"), hardlink("h", "d/f")},
		{symlink("up", "../outside"), file("up/sentinel", "x")},
		{file("../outside/sentinel", "x")},
		{file(".wh.x", ""), dir("x"), file("x/.wh..wh..opq", "")},
		{symlink("a", "/"), symlink("a/b", "a"), file("a/b/c", "x"), hardlink("z", "a/b/c")},
		{manyAttributes()},
		{{tar.Header{Name: "c", Typeflag: tar.TypeChar}, ""}},
	} {
		f.Add(archive(f, seed...))
	}
	f.Fuzz(func(t *testing.T, blob []byte) {
		p := makePlace(t)
		o := options()
		o.Limits = Limits{Bytes: 1 << 20, Ratio: 100, Floor: 1 << 20, Entries: 1000}
		_, _ = Layer(t.Context(), p.dir, bytes.NewReader(blob), int64(len(blob)), o) // any error will do
		p.unchanged(t)
		_ = filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type()&fs.ModeDevice != 0 {
				rel, _ := filepath.Rel(p.dir, path)
				if !p.isWhiteout(t, rel) {
					t.Errorf("device %q", rel)
				}
			}
			return nil
		})
	})
}

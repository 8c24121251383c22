package image

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/coop-dev/coop/internal/sandbox"
)

func TestReferences(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for in, want := range map[string]string{
		"debian":                           "docker.io/library/debian:latest",
		"debian:12":                        "docker.io/library/debian:12",
		"docker.io/library/debian:12":      "docker.io/library/debian:12",
		"index.docker.io/library/debian":   "docker.io/library/debian:latest",
		"me/tool":                          "docker.io/me/tool:latest",
		"ghcr.io/me/tool:1":                "ghcr.io/me/tool:1",
		"localhost:5000/x":                 "localhost:5000/x:latest",
		"debian@" + digest:                 "docker.io/library/debian@" + digest,
		"oci:/some/dir":                    "oci:/some/dir",
		"tar:/some/file with a space.tar":  "tar:/some/file with a space.tar",
		"":                                 "",
		"host":                             "",
		"-rf":                              "",
		"UPPER":                            "",
		"a b":                              "",
		"https://ghcr.io/x":                "",
		"x:1\n":                            "",
		"debian@sha256:short":              "",
		"../../etc/passwd":                 "",
		strings.Repeat("x", 600):           "",
		"x/" + strings.Repeat("../", 10):   "",
		"localhost:5000/a@" + digest + "x": "",
	} {
		got, err := ParseReference(in)
		if got.String() != want || (err == nil) != (want != "") {
			t.Errorf("%.40q: %q, %v", in, got, err)
		}
	}
	if got := strings.Join(Names("debian"), " "); got != "debian docker.io/library/debian:latest library/debian:latest debian:latest" {
		t.Error(got)
	}
}

func FuzzReference(f *testing.F) {
	for _, s := range []string{"debian", "a/b:c", "x@sha256:", "oci:/x", "[::1]:5000/x", "host"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseReference(s)
		if err != nil {
			return
		}
		again, err := ParseReference(r.String())
		if err != nil || again.String() != r.String() || strings.ContainsAny(r.String(), "\x00\n\x1b") {
			t.Errorf("%q → %q → %q, %v", s, r, again, err)
		}
	})
}

func TestRemove(t *testing.T) {
	s, h := newStore(t), newHub(t)
	used := map[string][]string{}
	s.InUse = func(context.Context) (map[string][]string, error) { return used, nil }
	shared := layerOf(t, "shared", "shared")
	one := s.mustPull(t, h.push("one:1", imageWith(t, v1.Config{}, shared, layerOf(t, "one", "1"))))
	two := s.mustPull(t, h.push("two:1", imageWith(t, v1.Config{}, shared, layerOf(t, "two", "2"))))
	layers := func() int {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(s.LayerDir(), "*[0-9a-f]"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	if layers() != 3 {
		t.Fatalf("%d layers of two images that share one", layers())
	}
	used[one.Digest] = []string{"box"}
	_, err := s.Remove(t.Context(), one.References[0])
	wantCode(t, err, sandbox.Conflict)
	if out, err := s.Prune(t.Context(), true); err != nil || len(out.Images) != 1 || out.Images[0] != two.Digest || out.Bytes == 0 || layers() != 2 {
		t.Errorf("%+v, %v, %d layers", out, err, layers())
	}
	if s.read(one, "shared") != "shared" {
		t.Error("the layer of a used image is gone")
	}
	// Somebody is about to use it.
	clear(used)
	_, release, err := s.Use(one.Digest)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Remove(t.Context(), one.Digest)
	wantCode(t, err, sandbox.Conflict)
	release()
	if out, err := s.Remove(t.Context(), one.Digest); err != nil || len(out.References) != 1 || layers() != 0 {
		t.Errorf("%+v, %v, %d layers", out, err, layers())
	}
	_, err = s.Remove(t.Context(), one.Digest)
	wantCode(t, err, sandbox.NotFound)
	s.clean(t, 0)
}

// TestMovedReference: the old image stays until it is pruned.
func TestMovedReference(t *testing.T) {
	s, h := newStore(t), newHub(t)
	ref := h.push("moving:1", imageWith(t, v1.Config{}, layerOf(t, "f", "old")))
	old := s.mustPull(t, ref)
	h.push("moving:1", imageWith(t, v1.Config{}, layerOf(t, "f", "new")))
	fresh := s.mustPull(t, ref)
	if found, err := s.Get(t.Context(), ref); err != nil || found.Digest != fresh.Digest || old.Digest == fresh.Digest {
		t.Errorf("%+v, %v", found, err)
	}
	if found, err := s.Get(t.Context(), old.Digest); err != nil || len(found.References) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	s = openStore(t, s.Home)
	if out, err := s.Prune(t.Context(), false); err != nil || len(out.Images) != 1 || out.Images[0] != old.Digest {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := s.Get(t.Context(), ref); err != nil {
		t.Error(err)
	}
}

// TestLeftovers: what a killed daemon left half done is never used and goes.
func TestLeftovers(t *testing.T) {
	s, h := newStore(t), newHub(t)
	img := s.mustPull(t, h.push("x:1", imageWith(t, v1.Config{}, layerOf(t, "f", "x"))))
	hex := hexOf(img.Layers[0].DiffID)
	half := strings.Repeat("b", 64)
	for _, dir := range []string{s.layerPath(half), s.tmp() + "/unpack-1/etc", s.tmp() + "/dead-1"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, s.tmp()+"/"+half+partSuffix, []byte("begin"))
	old := s.tmp() + "/" + strings.Repeat("c", 64) + partSuffix
	writeFile(t, old, []byte("begin"))
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*keepPart)); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, s.Home)
	s.clean(t, 1)
	if _, err := os.Stat(s.layerPath(half)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a layer stayed: %v", err)
	}
	if _, err := s.ByDigest(img.Digest); err != nil {
		t.Error(err)
	}
	// A layer that lost its mark is not trusted, and pulled again.
	if err := os.Remove(s.layerPath(hex + ".json")); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, s.Home)
	_, err := s.ByDigest(img.Digest)
	wantCode(t, err, sandbox.NotFound)
	s.mustPull(t, img.References[0])
	if s.read(img, "f") != "x" {
		t.Error("not repaired")
	}
	if out, err := s.Prune(t.Context(), false); err != nil || out.Bytes != int64(len("begin")) {
		t.Errorf("%+v, %v", out, err)
	}
	s.clean(t, 0)
}

// TestOtherIDs: layers unpacked for other ids are none, and are replaced.
func TestOtherIDs(t *testing.T) {
	s, h := newStore(t), newHub(t)
	ref := h.push("x:1", imageWith(t, v1.Config{}, layerOf(t, "f", "x")))
	img := s.mustPull(t, ref)
	other := New(Options{Home: s.Home, IDs: ManyIDs})
	if err := other.Open(); err != nil {
		t.Fatal(err)
	}
	_, _, err := other.Use(ref)
	wantCode(t, err, sandbox.NotFound)
	if testIDs() == OneID {
		return // cannot unpack for many ids
	}
	other.mustPull(t, ref)
	if _, err := other.ByDigest(img.Digest); err != nil {
		t.Error(err)
	}
}

// TestDamagedImage: nothing is removed when nobody knows what it needs.
func TestDamagedImage(t *testing.T) {
	s, h := newStore(t), newHub(t)
	img := s.mustPull(t, h.push("x:1", imageWith(t, v1.Config{}, layerOf(t, "f", "x"))))
	writeFile(t, s.manifestFile(img.Digest), []byte("{"))
	s = openStore(t, s.Home)
	if _, err := s.Prune(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if s.read(img, "f") != "x" {
		t.Error("a layer of an unreadable image was removed")
	}
}

func TestLookupUser(t *testing.T) {
	s, h := newStore(t), newHub(t)
	passwd := "root:x:0:0::/root:/bin/sh\napp:x:1000:100::/home/app:/bin/sh\nodd:x:99999:1::/:/\n"
	img := s.mustPull(t, h.push("x:1", imageWith(t, v1.Config{},
		layerOf(t, "etc/passwd", "app:x:1:1::/:/\n"), layerOf(t, "etc/passwd", passwd), layerOf(t, "etc/other", ""))))
	if uid, gid, ok := s.LookupUser(img, "app"); !ok || uid != 1000 || gid != 100 {
		t.Errorf("%d:%d %v", uid, gid, ok)
	}
	for _, name := range []string{"nobody", "odd", ""} {
		if _, _, ok := s.LookupUser(img, name); ok {
			t.Errorf("%q was found", name)
		}
	}
}

// TestRemoveWhileCreating: a sandbox that is made while its image is being
// removed either finds it gone or keeps it.
func TestRemoveWhileCreating(t *testing.T) {
	s, h := newStore(t), newHub(t)
	var mu sync.Mutex
	used := map[string][]string{}
	s.InUse = func(context.Context) (map[string][]string, error) {
		mu.Lock()
		defer mu.Unlock()
		return maps.Clone(used), nil
	}
	ref := h.push("x:1", imageWith(t, v1.Config{}, layerOf(t, "f", "x")))
	for range 50 {
		img := s.mustPull(t, ref)
		clear(used)
		var made bool
		var wg sync.WaitGroup
		wg.Go(func() {
			_, release, err := s.Use(ref)
			if err != nil {
				return
			}
			mu.Lock()
			used[img.Digest] = []string{"box"} // the record
			mu.Unlock()
			release()
			made = true
		})
		_, err := s.Remove(t.Context(), ref)
		wg.Wait()
		if made == (err == nil) {
			t.Fatalf("made %v, removed %v", made, err)
		}
		if _, err := s.ByDigest(img.Digest); (err == nil) != made {
			t.Fatalf("made %v, but %v", made, err)
		}
	}
}

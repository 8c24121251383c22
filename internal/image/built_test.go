package image

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
)

// addLayer makes a built layer with one file.
func addLayer(t *testing.T, s *Store, hex, step, parent string) (release func()) {
	t.Helper()
	scratch, err := s.Scratch()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(scratch, "layer")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte(hex), 0o644); err != nil {
		t.Fatal(err)
	}
	release, err = s.AddBuilt(hex, Built{Step: step, Parent: parent}, dir, 10)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func hexDigits(c string) string {
	out := ""
	for range 64 {
		out += c
	}
	return out
}

func TestBuiltLayers(t *testing.T) {
	s := newStore(t)
	one, two, again := hexDigits("1"), hexDigits("2"), hexDigits("3")
	addLayer(t, s, one, "step1", "")()
	addLayer(t, s, two, "step2", one)()
	if _, _, ok := s.FindBuilt("step2", "other"); ok {
		t.Error("found over another layer")
	}
	if hex, release, ok := s.FindBuilt("step2", one); !ok || hex != two {
		t.Errorf("%s, %v", hex, ok)
	} else {
		release()
	}
	addLayer(t, s, again, "step1", "")()
	if hex, release, ok := s.FindBuilt("step1", ""); !ok || hex != again {
		t.Errorf("not the newest: %s", hex)
	} else {
		release()
	}
	scratch, err := s.Scratch()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddBuilt(one, Built{}, scratch, 0); sandbox.CodeOf(err) != sandbox.Conflict {
		t.Errorf("replaced a layer: %v", err)
	}
	s = openStore(t, s.Home) // as a new daemon does
	if left, _ := filepath.Glob(filepath.Join(s.tmp(), "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if _, _, ok := s.FindBuilt("step2", one); !ok {
		t.Error("a layer was forgotten")
	}
}

// A layer whose description was not written is none.
func TestHalfABuiltLayer(t *testing.T) {
	s := newStore(t)
	hex := hexDigits("a")
	addLayer(t, s, hex, "step", "")()
	if err := os.Remove(s.layerPath(hex + ".json")); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, s.Home)
	if _, _, ok := s.FindBuilt("step", ""); ok {
		t.Error("half a layer is used")
	}
	if _, err := os.Stat(s.layerPath(hex)); !os.IsNotExist(err) {
		t.Errorf("and is still there: %v", err)
	}
}

func TestBases(t *testing.T) {
	s := newStore(t)
	one, two := hexDigits("1"), hexDigits("2")
	for _, hex := range []string{one, two} {
		addLayer(t, s, hex, hex, "")()
	}
	parent := Image{Config: Config{Env: []string{"A=b"}}}
	old, release, err := s.EnterBase(BaseOver(parent, Base{Config: "c", Image: "debian:12"}, []string{one}), "localhost/base/x:latest")
	if err != nil || len(old.References) != 1 || old.Config.Env[0] != "A=b" || old.Digest != "sha256:"+one {
		t.Fatalf("%+v, %v", old, err)
	}
	if _, err := s.Remove(t.Context(), old.Digest); sandbox.CodeOf(err) != sandbox.Conflict {
		t.Errorf("removed while in use: %v", err)
	}
	release()
	newer, release, err := s.EnterBase(BaseOver(parent, Base{Config: "c", Image: "debian:12"}, []string{one, two}), "localhost/base/x:latest")
	if err != nil {
		t.Fatal(err)
	}
	release()
	if img, release, ok := s.UseBase("c"); !ok || img.Digest != newer.Digest {
		t.Errorf("not the newest base: %s", img.Digest)
	} else {
		release()
	}
	if _, _, ok := s.UseBase("d"); ok {
		t.Error("a base of another configuration")
	}
	// The older one has lost its name.
	if err := s.DropUnused(t.Context(), []string{old.Digest, newer.Digest, "sha256:none"}); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, s.Home)
	list, err := s.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Digest != newer.Digest || list[0].Base == nil {
		t.Errorf("%+v, %v", list, err)
	}
	if _, _, err := s.EnterBase(BaseOver(parent, Base{}, []string{hexDigits("f")}), ""); err == nil {
		t.Error("a base of a layer that is not there")
	}
	if _, _, err := s.EnterBase(BaseOver(parent, Base{}, []string{one}), "no name"); sandbox.CodeOf(err) != sandbox.Invalid {
		t.Error("a bad name")
	}
	if _, err := s.Remove(t.Context(), "localhost/base/x"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.layerPath(two)); !os.IsNotExist(err) {
		t.Errorf("its layer stays: %v", err)
	}
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInit(t *testing.T) {
	w := newWorld(t)
	t.Setenv("PATH", "/nowhere")
	writeFile(t, "go.mod", "module x\n")
	w.want(t, 0, "agent:     none found; a login shell\nlanguage:  Go, by go.mod\nwrote:     coop.toml\n", "", "init")
	text, err := os.ReadFile("coop.toml")
	if err != nil || !strings.Contains(string(text), "# check = \"go test ./...\"\n") {
		t.Errorf("%v %s", err, text)
	}
	w.want(t, 1, "", "coop: coop.toml is there already\nhint: coop init --force takes its place\n", "init")
	writeFile(t, "coop.toml", "mine")
	w.want(t, 1, "", "coop: coop.toml is there already\nhint: coop init --force takes its place\n", "init")
	if text, _ := os.ReadFile("coop.toml"); string(text) != "mine" {
		t.Errorf("overwritten: %s", text)
	}
	cwd, err := workingDir()
	if err != nil {
		t.Fatal(err)
	}
	w.want(t, 0, filepath.Join(cwd, "coop.toml")+"\n", "", "init", "--force", "-q")
	status, stdout, _ := w.coop("create")
	if status != 0 || stdout != "id0001\n" {
		t.Errorf("%d %q", status, stdout)
	}
	if names, _ := filepath.Glob(".coop.toml-*"); len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
	if st, err := os.Stat("coop.toml"); err != nil || st.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", st.Mode(), err)
	}
}

// A link that leads nowhere is somebody's too.
func TestInitKeepsLinks(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink("nowhere", "coop.toml"); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := w.coop("init"); status != 1 {
		t.Errorf("status %d", status)
	}
	if _, err := os.Stat("nowhere"); err == nil {
		t.Error("written through the link")
	}
}

func TestWriteExclusive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := writeExclusive(file, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := writeExclusive(file, []byte("two")); !os.IsExist(err) {
		t.Errorf("%v", err)
	}
	if text, _ := os.ReadFile(file); string(text) != "one" {
		t.Errorf("%s", text)
	}
}

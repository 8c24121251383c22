package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
)

func TestResolveByDirectory(t *testing.T) {
	w := newWorld(t)
	root, err := workingDir()
	if err != nil {
		t.Fatal(err)
	}
	project := filepath.Join(root, "My Prüfung")
	deep := filepath.Join(project, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(deep, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	add := func(id, name string) {
		w.daemon.Add(api.Sandbox{ID: id, Name: name, Workspace: api.Workspace{Source: project}})
	}

	t.Chdir(filepath.Join(root, "link"))
	status, _, stderr := w.coop("inspect", "-q")
	if status != 3 || !strings.Contains(stderr, "no sandbox belongs to "+deep) || !strings.Contains(stderr, "\nhint: ") {
		t.Errorf("none: %d %q", status, stderr)
	}
	add("id1", "one")
	w.want(t, 0, "id1\n", "", "inspect", "-q")
	add("id2", "two")
	w.want(t, 1, "", "coop: several sandboxes belong to "+project+": two, one\nhint: choose one with -s NAME\n", "inspect", "-q")
	add("id3", "my-pr-fung")
	w.want(t, 0, "id3\n", "", "inspect", "-q")
	w.want(t, 0, "id2\n", "", "inspect", "-q", "two")
	w.want(t, 0, "id1\n", "", "-s", "one", "inspect", "-q")
}

func TestNameAfter(t *testing.T) {
	for dir, want := range map[string]string{
		"/home/me/Project": "project", "/x/.config": "config", "/": "sandbox", "/x/äöü": "sandbox", "/x/a b!": "a-b",
		"/x/" + strings.Repeat("a", 80): strings.Repeat("a", 48),
	} {
		if got := nameAfter(dir); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
)

func TestNodeIsKept(t *testing.T) {
	home := t.TempDir()
	first, err := node(home)
	if err != nil || !nodeForm.MatchString(first) {
		t.Fatalf("%q, %v", first, err)
	}
	again, err := node(home)
	if err != nil || again != first {
		t.Errorf("%q then %q, %v", first, again, err)
	}
	if other, _ := node(t.TempDir()); other == first {
		t.Error("two homes are one node")
	}
	if err := os.WriteFile(filepath.Join(home, "node"), []byte("x; DROP SCHEMA"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := node(home); sandbox.CodeOf(err) != sandbox.Unavailable {
		t.Errorf("a damaged one: %v", err)
	}
}

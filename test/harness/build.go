package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// binary is the coop to test: the one given, or one built into dir.
func binary(tags, dir string) (string, error) {
	name := "COOP_BIN"
	if tags != "" {
		name += "_" + strings.ToUpper(strings.NewReplacer(",", "_", "-", "_").Replace(tags))
	}
	if given := os.Getenv(name); given != "" {
		return filepath.Abs(given)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", fmt.Errorf("%w; set %s", err, name)
	}
	return build(root, tags, dir)
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no module to build coop from")
		}
	}
}

// build makes coop-init and then coop with it inside, both with the same tags.
// An overlay puts coop-init where the embedding looks, so that the tree is not
// written to and two suites can build at once.
func build(root, tags, dir string) (string, error) {
	initBin, coop, overlay := filepath.Join(dir, "coop-init"), filepath.Join(dir, "coop"), filepath.Join(dir, "overlay.json")
	if err := goBuild(root, "-tags", tags, "-o", initBin, "./cmd/coop-init"); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "internal/launch/initbin/embed/coop-init"): initBin,
	}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		return "", err
	}
	return coop, goBuild(root, "-tags", tags, "-overlay", overlay, "-o", coop, "./cmd/coop")
}

func goBuild(root string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-ldflags=-s -w"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

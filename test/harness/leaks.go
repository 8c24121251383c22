package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Sweep removes every sandbox, ends the daemon and looks for what is left of
// the home outside of its own files.
func (h Instance) Sweep(bin string) []error {
	var left []error
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := os.Stat(h.Dir); err == nil {
		if out, err := h.command(ctx, bin, "rm", "-f", "--all").CombinedOutput(); err != nil {
			left = append(left, fmt.Errorf("coop rm -f --all: %w: %s", err, bytes.TrimSpace(out)))
		}
		left = append(left, h.pruneImages(ctx, bin)...)
		left = append(left, h.stopDaemon(ctx, bin)...)
	}
	return append(left, h.Leaks()...)
}

// pruneImages removes the images: of an ordinary user's layers some belong to
// ids that only the daemon can remove.
func (h Instance) pruneImages(ctx context.Context, bin string) []error {
	if layers, err := os.ReadDir(filepath.Join(h.Dir, "layers", "sha256")); err != nil || len(layers) == 0 {
		return nil // there are none
	}
	if out, err := h.command(ctx, bin, "image", "prune", "-a").CombinedOutput(); err != nil {
		return []error{fmt.Errorf("coop image prune -a: %w: %s", err, bytes.TrimSpace(out))}
	}
	return nil
}

// stopDaemon shuts the daemon down and waits for its process.
func (h Instance) stopDaemon(ctx context.Context, bin string) []error {
	p, err := h.daemon()
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	if err != nil {
		return []error{err}
	}
	defer p.Close()
	if out, err := h.command(ctx, bin, "shutdown").CombinedOutput(); err != nil {
		return []error{fmt.Errorf("coop shutdown: %w: %s", err, bytes.TrimSpace(out))}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		return []error{fmt.Errorf("the daemon does not end: %w", err)}
	}
	return nil
}

// Leaks lists directories, control groups and mounts of a home that has no
// sandboxes any more.
func (h Instance) Leaks() []error {
	var left []error
	for _, dir := range h.sandboxDirs() {
		left = append(left, fmt.Errorf("directory %s", dir))
	}
	for _, dir := range h.Groups() {
		left = append(left, fmt.Errorf("control group %s", dir))
	}
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		left = append(left, err)
	}
	for line := range strings.Lines(string(info)) {
		if strings.Contains(line, h.Dir+"/") {
			left = append(left, fmt.Errorf("mount %s", strings.TrimSpace(line)))
		}
	}
	return left
}

// sandboxDirs lists what is in sandboxes/.
func (h Instance) sandboxDirs() []string {
	entries, _ := os.ReadDir(filepath.Join(h.Dir, "sandboxes")) // none before the first sandbox
	var dirs []string
	for _, e := range entries {
		dirs = append(dirs, filepath.Join(h.Dir, "sandboxes", e.Name()))
	}
	return dirs
}

// Groups lists the home's control groups in every hierarchy. The daemon names
// them after its home; internal/daemon, groupName.
func (h Instance) Groups() []string {
	sum := sha256.Sum256([]byte(h.Dir))
	name := "coop-" + hex.EncodeToString(sum[:4])
	var found []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil: // a group that went away, or is not ours to read
			return nil
		case !d.IsDir():
			return nil
		case strings.Contains(path, "/"+name):
			found = append(found, path)
		}
		return nil
	})
	return found
}

// NoneLeft fails the test unless the home has exactly the sandboxes named: as
// directories, and, where there are control groups, as groups.
func (h Instance) NoneLeft(t testing.TB, but ...string) {
	t.Helper()
	for _, dir := range h.Strays(but...) {
		t.Errorf("left behind: %s", dir)
	}
}

// Strays lists the directories and control groups of sandboxes other than the
// ones named.
func (h Instance) Strays(but ...string) []string {
	var strays []string
	for _, dir := range append(h.sandboxDirs(), h.Groups()...) {
		if base := filepath.Base(dir); !slices.Contains(but, base) && !strings.HasPrefix(base, "coop-") {
			strays = append(strays, dir)
		}
	}
	return strays
}

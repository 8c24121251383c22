package review

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/internal/linux/within"
)

// long ago, so that whatever is touched shows.
var ancient = time.Date(2001, 2, 3, 4, 5, 6, 700, time.UTC)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// grow makes a tree: "dir/" is a directory, "name -> target" a link, "name*" is
// executable, everything else a file with the given content. All are ancient.
func grow(t testing.TB, root string, entries map[string]string) {
	t.Helper()
	for name, text := range entries {
		p := filepath.Join(root, strings.TrimSuffix(name, "*"))
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		link, target, isLink := strings.Cut(name, " -> ")
		switch {
		case isLink:
			must(t, os.Symlink(target, filepath.Join(root, link)))
		case strings.HasSuffix(name, "/"):
			must(t, os.MkdirAll(p, 0o755))
		default:
			must(t, os.WriteFile(p, []byte(text), 0o644))
			if strings.HasSuffix(name, "*") {
				must(t, os.Chmod(p, 0o755))
			}
		}
	}
	age(t, root)
}

// age makes everything ancient.
func age(t testing.TB, root string) {
	t.Helper()
	dir, err := os.Open(root)
	must(t, err)
	defer dir.Close()
	must(t, filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		parent, name, done, err := within.Parent(dir, rel)
		if err != nil {
			return err
		}
		defer done()
		return within.SetMTimeOf(parent, name, ancient)
	}))
	must(t, within.SetMTime(dir, ancient))
}

// look describes everything below root. Times are shown for what is ancient.
func look(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	must(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		line := info.Mode().String()
		if info.ModTime().Equal(ancient) {
			line += " ancient"
		}
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			line += " " + string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			line += " -> " + target
		}
		out[rel] = line
		return nil
	}))
	return out
}

func same(t testing.TB, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("differs (-want +got):\n%s", diff)
	}
}

// project opens a tree for an Applier.
func project(t testing.TB, root string) *os.File {
	t.Helper()
	f, err := os.Open(root)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// seen is what an edit is decided upon.
func seen(t testing.TB, root, path string) *within.Stat {
	t.Helper()
	st, err := within.LstatPath(project(t, root), path)
	must(t, err)
	return &st
}

func applier(t testing.TB, root string) *Applier {
	t.Helper()
	return &Applier{Project: project(t, root), Path: root, Journal: filepath.Join(t.TempDir(), "journal")}
}

func text(format string, args ...any) *Body { return NewBody(fmt.Appendf(nil, format, args...)) }

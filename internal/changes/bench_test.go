package changes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coop-dev/coop/internal/changes/patch"
)

// BenchmarkDiff is the whole way from the layer to the text, for a thousand files
// with one line more.
func BenchmarkDiff(b *testing.B) {
	dir := b.TempDir()
	project, upper := filepath.Join(dir, "project"), filepath.Join(dir, "upper")
	for i := range 1000 {
		text := strings.Repeat(fmt.Sprintf("line of file %d\n", i), 10)
		for tree, more := range map[string]string{project: "", upper: "more\n"} {
			d := filepath.Join(tree, fmt.Sprintf("a/dir%d", i/10))
			if err := os.MkdirAll(d, 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(d, fmt.Sprint("file", i)), []byte(text+more), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	w, err := Open(project, Layer{Dir: upper})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	for b.Loop() {
		list, err := w.List(b.Context(), Options{})
		if err != nil || len(list) != 1000 {
			b.Fatal(len(list), err)
		}
		var text []byte
		err = w.Patch(b.Context(), list, Limits{}, func(_ Change, f patch.File) error {
			text = f.Append(text[:0])
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

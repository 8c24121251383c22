package review

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkApply applies a thousand files, half of them new, beside cp of the
// same files in the same run; "ratio" is the one to the other.
func BenchmarkApply(b *testing.B) {
	const files = 1000
	var ours, theirs time.Duration
	for b.Loop() {
		b.StopTimer()
		root, from, to := b.TempDir(), b.TempDir(), b.TempDir()
		list := make([]Edit, files)
		for i := range list {
			name := fmt.Sprintf("d%02d/f%04d", i%20, i)
			content := fmt.Appendf(nil, "%04000d", i)
			for _, dir := range []string{root, from, to} {
				must(b, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755))
			}
			must(b, os.WriteFile(filepath.Join(from, name), content, 0o644))
			list[i] = Edit{Path: name, Action: PutFile, Perm: 0o644}
			if i%2 == 0 {
				must(b, os.WriteFile(filepath.Join(root, name), []byte("old"), 0o644))
				must(b, os.WriteFile(filepath.Join(to, name), []byte("old"), 0o644))
				list[i].Seen = seen(b, root, name)
			}
		}
		a := applier(b, root)
		b.StartTimer()
		begin := time.Now()
		scratch := &Scratch{Dir: b.TempDir()}
		for i := range list {
			f, err := os.Open(filepath.Join(from, list[i].Path))
			must(b, err)
			list[i].Body, err = scratch.Read(f, maxFile)
			must(b, err)
			f.Close()
		}
		done, err := a.Apply(b.Context(), list)
		must(b, err)
		must(b, done.Forget())
		ours += time.Since(begin)
		begin = time.Now()
		must(b, exec.Command("cp", "-r", from+"/.", to).Run())
		theirs += time.Since(begin)
	}
	b.ReportMetric(float64(ours)/float64(theirs), "ratio")
	b.ReportMetric(float64(ours.Milliseconds())/float64(b.N), "ms/apply")
}

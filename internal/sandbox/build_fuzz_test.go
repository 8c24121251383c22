package sandbox

import (
	"strings"
	"testing"
)

// Whatever is taken for a package's name is one argument that no package manager
// takes for an option, a path or an address, and no shell for more than a word.
func FuzzPackageNames(f *testing.F) {
	for _, s := range []string{"git", "-o", "a;b", "@scope/name@1.2", "a>=1,<2", "x[y]", "../x", "a b", "libc6:amd64", "http://x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, m := range (Build{}).Managers() {
			if !m.valid(s) {
				continue
			}
			if s == "" || s[0] == '-' || s[0] == '.' || s[0] == '/' || strings.ContainsAny(s, " \t\n\x00;|&$`'\"\\(){}?#%") || strings.Contains(s, "://") || strings.Contains(s, "..") && strings.Contains(s, "/..") {
				t.Errorf("%s takes %q", m.Name, s)
			}
		}
	})
}

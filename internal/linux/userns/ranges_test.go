package userns

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coop-dev/coop/internal/linux/idmap"
)

func TestSubordinate(t *testing.T) {
	const nobody = 4000000 // no host has a name for it
	for name, c := range map[string]struct {
		text         string
		first, count uint32
		ok           bool
	}{
		"by number":           {"4000000:100000:65536\n", 100000, 65536, true},
		"cut to what is used": {"4000000:100000:1000000\n", 100000, 65536, true},
		"small but enough":    {"4000000:100000:1000\n", 100000, 1000, true},
		"too small":           {"4000000:100000:999\n", 0, 0, false},
		"the next one":        {"4000000:1:5\n4000000:200000:65536\n", 200000, 65536, true},
		"somebody else's":     {"4000001:100000:65536\nroot:1:65536\n", 0, 0, false},
		"no prefix match":     {"40000000:100000:65536\n400000:1:65536", 0, 0, false},
		"without newline":     {"root:1:65536\n4000000:100000:65536", 100000, 65536, true},
		"with white space":    {"  4000000:100000:65536  \n", 100000, 65536, true},
		"comments and dirt":   {"# a\n\n::::\n4000000\n4000000:a:b\n4000000:-1:65536\n4000000:1:99999999999\n", 0, 0, false},
		"empty":               {"", 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "subuid")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			first, count, ok := Subordinate(file, nobody)
			if ok != c.ok || (ok && (first != c.first || count != c.count)) {
				t.Errorf("%d %d %v", first, count, ok)
			}
		})
	}
}

func TestSubordinateByName(t *testing.T) {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		t.Skipf("uid %d has no name here: %v", os.Getuid(), err)
	}
	file := filepath.Join(t.TempDir(), "subuid")
	if err := os.WriteFile(file, []byte(u.Username+"x:1:65536\n"+u.Username+":300000:65536\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if first, _, ok := Subordinate(file, os.Getuid()); !ok || first != 300000 {
		t.Errorf("%d %v", first, ok)
	}
}

func TestSubordinateWithoutFile(t *testing.T) {
	if _, _, ok := Subordinate(filepath.Join(t.TempDir(), "none"), 0); ok {
		t.Error("a range from nowhere")
	}
}

func TestRangeMapPutsTheUserFirst(t *testing.T) {
	want := idmap.Map{{Inside: 0, Outside: 1000, Count: 1}, {Inside: 1, Outside: 100000, Count: 65536}}
	if got := rangeMap(1000, 100000, 65536); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestFirstLine(t *testing.T) {
	for in, want := range map[string]string{"": "", "one": "one", "one\ntwo\n": "one", "\ntwo": "", strings.Repeat("x", 9) + "\n": "xxxxxxxxx"} {
		if got := firstLine([]byte(in)); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

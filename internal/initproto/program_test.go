package initproto

import (
	"slices"
	"testing"
)

func TestProgramFiles(t *testing.T) {
	for _, c := range []struct {
		name string
		env  []string
		want []string
	}{
		{"", []string{"PATH=/bin"}, nil},
		{"/bin/sh", []string{"PATH=/x"}, []string{"/bin/sh"}},
		{"/bin//sh", nil, []string{"/bin//sh"}},
		{"./x", []string{"PATH=/bin"}, []string{"/work/x"}},
		{"a/x", nil, []string{"/work/a/x"}},
		{"sh", []string{"PATH=/usr/bin::rel:/bin/"}, []string{"/usr/bin/sh", "/work/sh", "rel/sh", "/bin/sh"}},
		{"sh", nil, []string{"/work/sh"}},
		{"sh", []string{"PATH=/a", "PATH=/b"}, []string{"/a/sh"}},
	} {
		if got := ProgramFiles(c.name, "/work", c.env); !slices.Equal(got, c.want) {
			t.Errorf("%q with %q: %q, want %q", c.name, c.env, got, c.want)
		}
	}
}

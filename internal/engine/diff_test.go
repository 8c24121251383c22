package engine

import (
	"slices"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
)

func TestWorkspacePaths(t *testing.T) {
	for _, c := range []struct {
		in, want []string
	}{
		{nil, nil},
		{[]string{"a", "./b/../c/", "/workspace/d"}, []string{"a", "c", "d"}},
		{[]string{"a", "."}, nil},
		{[]string{"/workspace"}, nil},
		{[]string{"workspace/x", "\xff\n"}, []string{"workspace/x", "\xff\n"}},
	} {
		if got, err := workspacePaths(c.in, "/workspace"); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v", c.in, got, err)
		}
	}
	for _, p := range []string{"", "..", "../x", "a/../..", "/etc", "/workspacex", "a\x00b"} {
		if got, err := workspacePaths([]string{p}, "/workspace"); sandbox.CodeOf(err) != sandbox.Invalid {
			t.Errorf("%q: %q, %v", p, got, err)
		}
	}
}

package sandbox

import (
	"strings"
	"testing"
)

func TestPackageNames(t *testing.T) {
	for manager, list := range map[string]struct{ good, bad string }{
		"apt": {"git g++ libc6:amd64 git=1:2.39.5-0+deb12u2 curl/bookworm-backports postgresql-client-15", "Git git- -o ../x git;id /tmp/x.deb git= a|b a$(b) http://x"},
		"apk": {"git python3~3.12 nodejs>=20 gcc=13.2.1_git20231014-r0", "-U --root a;b a/b =1"},
		"dnf": {"git git-2.43.0 glibc.i686 python3-devel", "-y @group /usr/bin/git a;b"},
		"npm": {"typescript @scope/name@1.2 a@^1.0.0 @anthropic-ai/claude-code express@latest", "-g ./x ../x git+ssh://x file:x @scope a@npm:b http://x a;b"},
		"pip": {"requests ruff==0.4 a>=1,<2 uvicorn[standard] A~=1.4.2", "-r --index-url a@http://x ./x a;b git+https://x a[b"},
	} {
		for _, m := range (Build{}).Managers() {
			if m.Name != manager {
				continue
			}
			for _, p := range strings.Fields(list.good) {
				if !m.valid(p) {
					t.Errorf("%s: %q is refused", manager, p)
				}
			}
			for _, p := range append(strings.Fields(list.bad), "", "a b", "a\x00", "é") {
				if m.valid(p) {
					t.Errorf("%s: %q is accepted", manager, p)
				}
			}
		}
	}
}

func TestBuildValidate(t *testing.T) {
	for what, c := range map[string]struct {
		b     Build
		image string
		code  Code
	}{
		"nothing":        {Build{}, "host", ""},
		"all of a image": {Build{Apt: []string{"git"}, Npm: []string{"x"}, Run: []string{"make"}, Install: "x"}, "debian:12", ""},
		"languages":      {Build{Npm: []string{"x"}, Pip: []string{"y"}}, "host", ""},
		"system on host": {Build{Apt: []string{"git"}}, "host", Invalid},
		"option":         {Build{Pip: []string{"-rfile"}}, "host", Invalid},
		"NUL":            {Build{Run: []string{"a\x00b"}}, "host", Invalid},
		"empty":          {Build{Run: []string{" "}}, "host", Invalid},
		"long":           {Build{Install: strings.Repeat("x", MaxArgLength)}, "host", Invalid},
		"many":           {Build{Run: make([]string, MaxBuildSteps+1)}, "host", TooLarge},
		"many packages":  {Build{Pip: make([]string, MaxPackages+1)}, "host", TooLarge},
	} {
		err := c.b.Validate(c.image)
		if (err == nil) != (c.code == "") || err != nil && CodeOf(err) != c.code {
			t.Errorf("%s: %v", what, err)
		}
	}
	var none *Build
	if !none.Empty() || !(&Build{}).Empty() || (&Build{Install: "x"}).Empty() {
		t.Error("empty")
	}
}

package changes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
)

// listed opens a workspace whose layer has user attributes and lists it.
func listed(t *testing.T, project, upper string, o Options) []Change {
	t.Helper()
	w, err := Open(project, Layer{Dir: upper})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	list, err := w.List(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// brief is a list in few words.
func brief(list []Change) string {
	var out []string
	for _, c := range list {
		s := string(c.Kind) + " " + c.Path
		if c.OldPath != "" {
			s += fmt.Sprintf(" < %s %d%%", c.OldPath, c.Similarity)
		}
		for _, word := range []struct {
			on   bool
			text string
		}{{c.Binary, "binary"}, {c.Large, "large"}, {len(c.Flagged) > 0, "flagged"}, {c.Denied != "", "denied"}, {c.Refused != "", "refused"}} {
			if word.on {
				s += " " + word.text
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

func wantList(t *testing.T, list []Change, want string) {
	t.Helper()
	if got := brief(list); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// merged makes a project and an overlay over it, in every mode there is.
func merged(t *testing.T, setup func(project string), work func(m *mounted), check func(t *testing.T, m *mounted, w *Workspace)) {
	t.Helper()
	drivers(t, func(t *testing.T, d driver) {
		dir := tempDir(t, d)
		mkdir(t, filepath.Join(dir, "project"))
		setup(filepath.Join(dir, "project"))
		m, unmount, err := workspaceOf(dir, d)
		if err != nil {
			need(t, "overlayfs over "+os.TempDir(), err)
		}
		defer unmount()
		work(m)
		w, err := Open(m.project, m.layer())
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		check(t, m, w)
	})
}

func list(t *testing.T, w *Workspace, o Options) []Change {
	t.Helper()
	l, err := w.List(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestRenames(t *testing.T) {
	text := strings.Repeat("a line of some length\n", 20)
	merged(t, func(p string) {
		mkdir(t, p+"/dir/sub")
		write(t, p+"/dir/one", "content of one\n")
		write(t, p+"/dir/sub/two", "content of two\n")
		write(t, p+"/similar", text+"the end\n")
		write(t, p+"/same", "moved as it is\n")
		write(t, p+"/empty", "")
		link(t, "target", p+"/link")
		write(t, p+"/twin", "twins\n")
	}, func(m *mounted) {
		run(t, m.merged, "mv", "dir", "moved")
		run(t, m.merged, "mv", "same", "elsewhere")
		run(t, m.merged, "mv", "empty", "void")
		run(t, m.merged, "mv", "link", "link2")
		run(t, m.merged, "mv", "similar", "like")
		write(t, m.merged+"/like", text+"another end, and more\n")
		run(t, m.merged, "cp", "twin", "copy") // nothing is gone
	}, func(t *testing.T, m *mounted, w *Workspace) {
		wantList(t, list(t, w, Options{}), "added copy; deleted dir; deleted dir/sub; renamed elsewhere < same 100%; deleted empty; "+
			"renamed like < similar 95%; renamed link2 < link 100%; added moved; renamed moved/one < dir/one 100%; added moved/sub; "+
			"renamed moved/sub/two < dir/sub/two 100%; added void")
	})
}

// TestRedirects: a directory that was renamed is still where it was, on disk.
func TestRedirects(t *testing.T) {
	merged(t, func(p string) {
		mkdir(t, p+"/a/deep")
		write(t, p+"/a/deep/file", "one\n")
		write(t, p+"/a/gone", "two\n")
		write(t, p+"/a/changed", "three\nthree\nthree\n")
		mkdir(t, p+"/b")
		write(t, p+"/b/other", "four\n")
	}, func(m *mounted) {
		run(t, m.merged, "mv", "a", "c")
		run(t, m.merged, "mv", "c/deep", "c/deeper") // beside its own place
		run(t, m.merged, "rm", "c/gone")
		run(t, m.merged, "sh", "-c", "echo more >>c/changed")
		run(t, m.merged, "mv", "b", "a") // where another one was
	}, func(t *testing.T, m *mounted, w *Workspace) {
		l := list(t, w, Options{})
		wantList(t, l, "deleted a/deep; deleted a/gone; renamed a/other < b/other 100%; deleted b; added c; "+
			"renamed c/changed < a/changed 78%; added c/deeper; renamed c/deeper/file < a/deep/file 100%")
		for _, c := range l {
			if from, ok := c.Borrowed(); m.driver == rootOverlay && c.Path == "c/deeper/file" && (!ok || from != "a/deep/file") {
				t.Errorf("%s lies at %q", c.Path, from)
			}
		}
		run(t, m.merged, "mv", "a", "b")
		run(t, m.merged, "mv", "c/deeper", "c/deep")
		run(t, m.merged, "mv", "c", "a")
		wantList(t, list(t, w, Options{}), "modified a/changed; deleted a/gone")
	})
}

// TestDeadRedirects: the move was made in the project too.
func TestDeadRedirects(t *testing.T) {
	merged(t, func(p string) {
		mkdir(t, p+"/a/deep")
		write(t, p+"/a/deep/file", "one\n")
		write(t, p+"/a/other", "two\n")
	}, func(m *mounted) {
		run(t, m.merged, "mv", "a", "b")
		run(t, m.merged, "mv", "b/deep", "b/deeper")
		write(t, m.merged+"/b/other", "changed\n")
	}, func(t *testing.T, m *mounted, w *Workspace) {
		if n, err := DropDeadRedirects(t.Context(), m.project, m.layer()); n != 0 || err != nil {
			t.Fatalf("%d dropped that lead somewhere, %v", n, err)
		}
		run(t, m.project, "mv", "a", "b")
		run(t, m.project, "mv", "b/deep", "b/deeper")
		wantList(t, list(t, w, Options{}), "modified b/other")
		want := 0
		if m.driver == rootOverlay {
			want = 2
		}
		if n, err := DropDeadRedirects(t.Context(), m.project, m.layer()); n != want || err != nil {
			t.Errorf("%d dropped, %v", n, err)
		}
		wantList(t, list(t, w, Options{}), "modified b/other")
	})
}

func TestGitIsDeniedInBulk(t *testing.T) {
	merged(t, func(p string) {
		mkdir(t, p+"/.git/objects")
		write(t, p+"/.git/config", "[core]\n")
		mkdir(t, p+"/sub/.git")
		write(t, p+"/sub/.git/config", "[core]\n")
	}, func(m *mounted) {
		for i := range 100 {
			write(t, fmt.Sprintf("%s/.git/objects/%d", m.merged, i), "x")
		}
		run(t, m.merged, "sh", "-c", ": >>sub/.git/config") // copied up and the same
		mkdir(t, m.merged+"/vendored/.GIT/hooks")
		write(t, m.merged+"/vendored/.GIT/hooks/post-commit", "evil")
		write(t, m.merged+"/worktree", "x")
		run(t, m.merged, "sh", "-c", "mkdir w; echo gitdir: /tmp/evil >w/.git")
	}, func(t *testing.T, m *mounted, w *Workspace) {
		l := list(t, w, Options{})
		wantList(t, l, "modified .git denied; added vendored; added vendored/.GIT denied; added w; added w/.git denied; added worktree")
		if l[0].Denied != ".git/**" || l[0].Pending() {
			t.Errorf("%+v", l[0])
		}
		run(t, m.merged, "rm", "-rf", ".git", "sub/.git")
		wantList(t, list(t, w, Options{Paths: []string{".git", "sub"}}), "deleted .git denied; deleted sub/.git denied")
	})
}

func TestPaths(t *testing.T) {
	project, upper := trees(t)
	for _, p := range []string{"a", "ab", "a-", "d/x/1", "d/x/2", "d/y"} {
		mkdir(t, filepath.Dir(filepath.Join(upper, p)))
		write(t, filepath.Join(upper, p), "new")
	}
	for want, paths := range map[string][]string{
		"added a":                             {"a"},
		"added d/x; added d/x/1; added d/x/2": {"d/x"},
		"added a; added d/y":                  {"d/y", "a"},
		"":                                    {"nothing", "d/x/1/2"},
		"added d; added d/x; added d/x/1; added d/x/2; added d/y": {"d", "d/x"},
	} {
		wantList(t, listed(t, project, upper, Options{Paths: paths}), want)
	}
}

func TestBinaryAndLarge(t *testing.T) {
	project, upper := trees(t)
	write(t, project+"/bin", "a\x00b")
	write(t, upper+"/bin", "text")
	write(t, upper+"/bin2", strings.Repeat("x", 7999)+"\x00")
	write(t, upper+"/text", strings.Repeat("x", 8000)+"\x00")
	write(t, upper+"/large", strings.Repeat("x", 20_000))
	wantList(t, listed(t, project, upper, Options{Limits: Limits{FileBytes: 10_000}}), "modified bin binary; added bin2 binary; added large large; added text")
}

func TestLimits(t *testing.T) {
	project, upper := trees(t)
	for i := range 20 {
		write(t, fmt.Sprintf("%s/%02d", upper, i), "x")
	}
	w, err := Open(project, Layer{Dir: upper})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_, err = w.List(t.Context(), Options{Limits: Limits{Changes: 10}})
	if sandbox.CodeOf(err) != sandbox.TooLarge {
		t.Errorf("more changes than allowed: %v", err)
	}
	l, err := w.List(t.Context(), Options{Limits: Limits{Changes: 20}})
	if err != nil || len(l) != 20 {
		t.Errorf("%d, %v", len(l), err)
	}
	b, shown := NewBudget(Limits{TotalBytes: 5}), 0
	for _, c := range l {
		f, err := w.Diff(t.Context(), c, b)
		if err != nil {
			t.Fatal(err)
		}
		if f.Summary == "" {
			shown++
		}
	}
	if shown != 5 {
		t.Errorf("%d files shown", shown)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := w.List(ctx, Options{}); !errors.Is(err, cause) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestPolicy(t *testing.T) {
	project, upper := trees(t)
	write(t, project+"/package.json", `{"name": "x", "scripts": {"test": "true"}}`)
	mkdir(t, project+"/sub")
	write(t, project+"/sub/package.json", `{"scripts": {"test": "true"}}`)
	write(t, upper+"/package.json", `{"name": "y", "scripts": {"test":   "true"}}`)
	mkdir(t, upper+"/sub/.github/workflows")
	write(t, upper+"/sub/package.json", `{"scripts": {"test": "curl evil"}}`)
	write(t, upper+"/sub/.github/workflows/ci.yml", "on: push\n")
	write(t, upper+"/sub/key.pem", "secret")
	write(t, upper+"/pyproject.toml", "[build-system]\nrequires = []\n")
	write(t, upper+"/new", strings.Repeat("x", 100))
	write(t, upper+"/bin", "\x00")
	link(t, "x", upper+"/.envrc")
	l := listed(t, project, upper, Options{})
	wantList(t, l, "added .envrc flagged; added bin binary; added new; modified package.json; added pyproject.toml flagged; added sub/.github; "+
		"added sub/.github/workflows flagged; added sub/.github/workflows/ci.yml flagged; added sub/key.pem; modified sub/package.json flagged")
	p := DefaultPolicy()
	p.Deny, p.Flag, p.MaxBytes, p.NoBinary = append(p.Deny, "*.pem"), []string{"/new"}, 50, true
	wantList(t, listed(t, project, upper, Options{Policy: p}), "added .envrc; added bin binary denied; added new denied; modified package.json; "+
		"added pyproject.toml; added sub/.github; added sub/.github/workflows; added sub/.github/workflows/ci.yml; added sub/key.pem denied; modified sub/package.json")
	p = &Policy{Allow: []string{"sub/**"}}
	for _, c := range listed(t, project, upper, Options{Policy: p}) {
		if (c.Denied == "") != strings.HasPrefix(c.Path, "sub/") {
			t.Errorf("%s: %q", c.Path, c.Denied)
		}
	}
}

func TestPolicyCheck(t *testing.T) {
	if err := DefaultPolicy().Check(); err != nil {
		t.Error(err)
	}
	for _, p := range []Policy{{Deny: []string{"a[", "b"}}, {Allow: []string{""}}, {Flag: []string{"x[#key"}}} {
		if err := p.Check(); sandbox.CodeOf(err) != sandbox.Invalid {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern  string
		yes, not []string
	}{
		{".envrc", []string{".envrc", "a/.envrc", "a/b/.ENVRC"}, []string{"x.envrc", ".envrc/x", ".envrcs"}},
		{"/top", []string{"top"}, []string{"a/top"}},
		{"a/b", []string{"a/b", "x/a/b"}, []string{"a/x/b", "a/b/c"}},
		{".git/**", []string{".git", ".git/x", ".git/x/y", "a/.git/hooks"}, []string{".github", "a.git"}},
		{"a/**/b", []string{"a/b", "a/x/b", "a/x/y/b", "z/a/b"}, []string{"a", "ab", "a/b/c"}},
		{"*.pem", []string{"x.pem", "a/.pem"}, []string{"x.pem/y", "x.pemx"}},
		{"**/x", []string{"x", "a/x", "a/b/x"}, []string{"xa"}},
		{"**", []string{"x", "a/b"}, nil},
		{"\xff*", []string{"\xffa", "d/\xff"}, []string{"a\xff"}},
		{"a/**/b/**/c", []string{"a/b/c", "a/b/x/b/c", "a/x/b/y/c"}, []string{"a/c/b", "a/b/b"}},
	} {
		g := compile(c.pattern, true)
		for _, p := range c.yes {
			if !g.matches(name(p)) {
				t.Errorf("%q does not match %q", c.pattern, p)
			}
		}
		for _, p := range c.not {
			if g.matches(name(p)) {
				t.Errorf("%q matches %q", c.pattern, p)
			}
		}
	}
	// A pattern made to be slow.
	if compile(strings.Repeat("**/a/", 50)+"b", true).matches(name(strings.Repeat("a/", 2000) + "c")) {
		t.Error("it matches")
	}
}

func TestSorted(t *testing.T) {
	project, upper := trees(t)
	for _, n := range []string{"z", "a b", "a-b", "a", "\xff", "é", "a\nb", "A"} {
		write(t, filepath.Join(upper, n), "")
	}
	l := listed(t, project, upper, Options{})
	if !slices.IsSortedFunc(l, func(a, b Change) int { return strings.Compare(a.Path, b.Path) }) || len(l) != 8 {
		t.Error(brief(l))
	}
}

package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/changes/patch"
	"github.com/coop-dev/coop/internal/review"
	"github.com/coop-dev/coop/internal/sandbox"
)

// reviewed is a sandbox over a project with a few files.
func (w *world) reviewed(policy sandbox.Review) (View, string) { return w.reviewedBy("auto", policy) }

func (w *world) reviewedBy(driver string, policy sandbox.Review) (View, string) {
	w.t.Helper()
	project, err := filepath.EvalSymlinks(w.t.TempDir())
	w.must(err)
	for name, text := range map[string]string{"f": "1\n2\n3\n", "g": "g\n", "dir/a": "a\n"} {
		w.must(os.MkdirAll(filepath.Dir(filepath.Join(project, name)), 0o755))
		w.must(os.WriteFile(filepath.Join(project, name), []byte(text), 0o644))
	}
	return w.make(sandbox.Spec{Workspace: sandbox.Workspace{Source: project, Mode: sandbox.ModeOverlay, Repo: true}, Review: policy, Driver: driver}), project
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) sh(v View, script string) string {
	w.t.Helper()
	outcome, out := w.run(string(v.ID), script)
	if outcome.Code != 0 {
		w.t.Fatalf("%s: status %d: %s", script, outcome.Code, out)
	}
	return out
}

func (w *world) pending(v View) string {
	w.t.Helper()
	var list []string
	w.must(w.Diff(w.t.Context(), string(v.ID), DiffQuery{}, func(c changes.Change, _ patch.File) error {
		list = append(list, string(c.Kind)+" "+c.Path)
		return nil
	}))
	return strings.Join(list, ", ")
}

func (w *world) file(p string) string {
	w.t.Helper()
	data, err := os.ReadFile(p)
	w.must(err)
	return string(data)
}

func (w *world) want(got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Fatalf("%q, want %q", got, want)
	}
}

const mess = `echo two > f; rm g; mkdir -p new/deep; echo n > new/deep/n; rm -r dir; ln -s f l`

// TestReviewOfARunningSandbox: the layer is only read; what is dropped is written
// through PID 1's own mount, and programs inside see it at once.
func TestReviewOfARunningSandbox(t *testing.T) {
	for _, driver := range []string{"overlay", "copy"} {
		t.Run(driver, func(t *testing.T) { reviewRunning(t, driver) })
	}
}

func reviewRunning(t *testing.T, driver string) {
	w := newWorld(t)
	v, project := w.reviewedBy(driver, sandbox.Review{})
	w.sh(v, mess)
	res, now, err := w.Approve(t.Context(), string(v.ID), Approval{Request: review.Request{Files: []string{"f", "/workspace/new"}, Actor: "uid:7"}})
	w.must(err)
	w.want(strings.Join(res.Applied, " "), "f new new/deep new/deep/n")
	w.want(now.ReviewStatus, sandbox.ReviewPartial)
	w.want(w.file(filepath.Join(project, "f")), "two\n")
	w.want(w.pending(v), "deleted dir, deleted dir/a, deleted g, added l")
	if _, _, _, err := w.Discard(t.Context(), string(v.ID), []string{"dir", "l"}, 0, "uid:7"); err != nil {
		t.Fatal(err)
	}
	w.want(w.sh(v, "cat dir/a; ls"), "a\ndir\nf\nnew")
	w.want(w.pending(v), "deleted g")
	d, _, now, err := w.Discard(t.Context(), string(v.ID), nil, 0, "uid:7")
	w.must(err)
	w.want(strings.Join(d.Paths, " "), "g")
	w.want(now.ReviewStatus, sandbox.ReviewPartial)
	w.want(w.sh(v, "cat g; stat -c %u:%g g dir dir/a; echo more >> dir/a && cat dir/a"), "g\n0:0\n0:0\n0:0\na\nmore")
	w.traced(v, filepath.Join(project, "new/deep/n"))
}

// traced: it is known who put a file there.
func (w *world) traced(v View, file string) {
	w.t.Helper()
	lines, err := w.AuditOf(w.t.Context(), file, 10)
	w.must(err)
	if len(lines) != 1 || lines[0].Event != "approve" || lines[0].Sandbox != v.ID || lines[0].Actor != "uid:7" {
		w.t.Errorf("%+v", lines)
	}
}

func TestReviewOfAStoppedSandbox(t *testing.T) {
	for _, driver := range []string{"overlay", "copy"} {
		t.Run(driver, func(t *testing.T) { reviewStopped(t, driver) })
	}
}

func reviewStopped(t *testing.T, driver string) {
	w := newWorld(t)
	v, project := w.reviewedBy(driver, sandbox.Review{})
	w.sh(v, mess)
	_, err := w.Stop(t.Context(), string(v.ID), 0, "test")
	w.must(err)
	_, _, err = w.Approve(t.Context(), string(v.ID), Approval{Request: review.Request{Files: []string{"f"}}})
	w.must(err)
	d, _, _, err := w.Discard(t.Context(), string(v.ID), nil, 0, "test")
	w.must(err)
	w.want(strings.Join(d.Paths, " "), "dir dir/a g l new new/deep new/deep/n")
	w.want(w.pending(v), "")
	w.must(os.WriteFile(filepath.Join(project, "f"), []byte("the person's\n"), 0o644))
	w.must(os.WriteFile(filepath.Join(project, "g"), []byte("the person's\n"), 0o644))
	w.want(w.pending(v), "")
	_, err = w.Start(t.Context(), string(v.ID), "test")
	w.must(err)
	if driver == "copy" { // all the sandbox has
		w.want(w.sh(v, "cat f g dir/a; ls"), "two\ng\na\ndir\nf\ng")
		return
	}
	// What was settled lies in the layer no more: the project shows.
	w.want(w.sh(v, "cat f g dir/a; ls"), "the person's\nthe person's\na\ndir\nf\ng")
}

// TestTwoReviewers: one of them wins, and what was decided upon an old version is
// a conflict.
func TestTwoReviewers(t *testing.T) {
	w := newWorld(t)
	v, project := w.reviewed(sandbox.Review{})
	w.sh(v, "for i in $(seq 300); do echo $i > n$i; done")
	var both sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		both.Go(func() { _, _, errs[i] = w.Approve(t.Context(), string(v.ID), Approval{Version: v.Version}) })
	}
	both.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case sandbox.CodeOf(err) != sandbox.Conflict:
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d of %d won", won, len(errs))
	}
	w.want(w.file(filepath.Join(project, "n300")), "300\n")
}

func TestCheckBeforeApply(t *testing.T) {
	w := newWorld(t)
	v, project := w.reviewed(sandbox.Review{Check: "echo looking; test ! -e broken || { echo it is broken >&2; exit 3; }"})
	w.sh(v, "echo x > broken; echo two > f")
	_, _, err := w.Approve(t.Context(), string(v.ID), Approval{})
	if sandbox.CodeOf(err) != sandbox.Denied || !strings.Contains(err.Error(), "status 3") || !strings.Contains(err.(*sandbox.Error).Hint, "it is broken") {
		t.Errorf("%v", err)
	}
	w.want(w.file(filepath.Join(project, "f")), "1\n2\n3\n")
	w.sh(v, "rm broken")
	_, _, err = w.Approve(t.Context(), string(v.ID), Approval{})
	w.must(err)
	w.want(w.file(filepath.Join(project, "f")), "two\n")
	w.sh(v, "echo three > f")
	_, err = w.Stop(t.Context(), string(v.ID), 0, "test")
	w.must(err)
	if _, _, err = w.Approve(t.Context(), string(v.ID), Approval{}); sandbox.CodeOf(err) != sandbox.Conflict {
		t.Errorf("%v", err)
	}
}

// TestInterruptedApprove: the next daemon ends what the last one had begun, and
// the next reviewer is told.
func TestInterruptedApprove(t *testing.T) {
	w := newWorld(t)
	v, project := w.reviewed(sandbox.Review{})
	w.sh(v, "echo two > f; echo n > n")
	cfg := w.reviewConfig(&v.Record)
	r, err := review.Open(cfg)
	w.must(err)
	_, err = r.Approve(t.Context(), review.Request{Actor: "uid:7", Book: func(context.Context, *review.Result) error { return context.Canceled }})
	r.Close()
	if err == nil {
		t.Fatal("booked")
	}
	w.again()
	w.want(w.file(filepath.Join(project, "f")), "two\n")
	w.want(w.pending(v), "")
	_, notes, err := w.Conflicts(t.Context(), string(v.ID))
	w.must(err)
	if len(notes) != 1 || !strings.Contains(notes[0], "interrupted and was completed") {
		t.Errorf("%q", notes)
	}
	if _, notes, _ = w.Conflicts(t.Context(), string(v.ID)); notes != nil {
		t.Errorf("told twice: %q", notes)
	}
	w.traced(v, filepath.Join(project, "n"))
}

// TestNothingToReview: other modes hold nothing back.
func TestNothingToReview(t *testing.T) {
	w := newWorld(t)
	v := w.make(sandbox.Spec{})
	if _, _, err := w.Approve(t.Context(), string(v.ID), Approval{}); sandbox.CodeOf(err) != sandbox.Invalid {
		t.Error(err)
	}
	if _, _, err := w.Approve(t.Context(), "nobody", Approval{}); sandbox.CodeOf(err) != sandbox.NotFound {
		t.Error(err)
	}
}

package review

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The child of the kill tests applies edits to a project and dies at a given
// step, or recovers and dies at a given step of that.
const (
	envRole = "COOP_REVIEW_TEST_ROLE"
	envRoot = "COOP_REVIEW_TEST_ROOT"
	envAt   = "COOP_REVIEW_TEST_AT"
)

// TestChild is not a test: it is what the kill tests run.
func TestChild(t *testing.T) {
	role := os.Getenv(envRole)
	if role == "" {
		t.Skip("only for other tests")
	}
	root := os.Getenv(envRoot)
	at, err := strconv.Atoi(os.Getenv(envAt))
	must(t, err)
	n := 0
	step := func(string) {
		if n++; n == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	journal := root + ".journal"
	if role == "recover" {
		_, err := recoverWith(journal, step)
		must(t, err)
		return
	}
	a := &Applier{Project: project(t, root), Path: root, Journal: journal, Note: []byte(`"note"`), step: step}
	a.twoSteps = role == "apply in two steps"
	_, err = a.Apply(t.Context(), edits(t, root))
	must(t, err)
}

// child reports whether the process was killed at its step.
func child(t *testing.T, role, root string, at int) (killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), envRole+"="+role, envRoot+"="+root, envAt+"="+strconv.Itoa(at))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return false
}

func killProject(t *testing.T) string {
	root := filepath.Join(t.TempDir(), "project")
	must(t, os.Mkdir(root, 0o755))
	grow(t, root, before())
	return root
}

// settled checks that the project is one of its two states, and which.
func settled(t *testing.T, root string, was map[string]string) (completed bool) {
	t.Helper()
	r, err := Recover(root + ".journal")
	must(t, err)
	got := look(t, root)
	switch {
	case r != nil && r.Completed:
		same(t, got, after())
	default:
		same(t, got, was)
	}
	if r == nil {
		return false
	}
	same(t, string(r.Note), `"note"`)
	same(t, r.Problems, []string(nil))
	must(t, r.Forget())
	return r.Completed
}

// TestKilledAfterEveryStep ends the process after everything it does to the
// project or the journal. Recovery leaves one of exactly two states.
func TestKilledAfterEveryStep(t *testing.T) {
	for _, role := range []string{"apply", "apply in two steps"} {
		t.Run(role, func(t *testing.T) { killEverywhere(t, role) })
	}
}

func killEverywhere(t *testing.T, role string) {
	undone, completed := 0, 0
	for at := 1; ; at++ {
		root := killProject(t)
		was := look(t, root)
		if !child(t, role, root, at) {
			same(t, look(t, root), after())
			break
		}
		if settled(t, root, was) {
			completed++
		} else {
			undone++
		}
	}
	t.Logf("%d kills: %d rolled back, %d completed", undone+completed, undone, completed)
	if undone < 30 || completed < 5 {
		t.Errorf("%d rolled back, %d completed: are all steps counted?", undone, completed)
	}
}

// TestKilledWhileRecovering: recovery itself may be ended at any step.
func TestKilledWhileRecovering(t *testing.T) {
	if testing.Short() {
		t.Skip("starts hundreds of processes")
	}
	for _, at := range []int{12, 30, 38, 44, 52} {
		for again := 1; ; again++ {
			root := killProject(t)
			was := look(t, root)
			if !child(t, "apply", root, at) {
				t.Fatalf("there is no step %d", at)
			}
			if !child(t, "recover", root, again) {
				break
			}
			settled(t, root, was)
		}
	}
}

// TestTornJournal: a journal that ends in the middle of a line says what its
// last whole line says.
func TestTornJournal(t *testing.T) {
	root := killProject(t)
	was := look(t, root)
	for at := 1; ; at++ { // up to the step after which nothing is undone
		if !child(t, "apply", root, at) {
			t.Fatal("never staged")
		}
		data, err := os.ReadFile(root + ".journal")
		must(t, err)
		if strings.Contains(string(data), " "+wordStaged+" ") {
			must(t, os.WriteFile(root+".journal", data[:len(data)-7], 0o600))
			break
		}
		settled(t, root, was)
	}
	r, err := Recover(root + ".journal")
	must(t, err)
	if r.Completed {
		t.Error("a torn line was believed")
	}
	same(t, look(t, root), was)
}

// TestSomebodyElseSinceTheCrash: what was written after the crash is kept, and
// so is what it replaced.
func TestSomebodyElseSinceTheCrash(t *testing.T) {
	root := killProject(t)
	was := look(t, root)
	for at := 1; ; at++ {
		if !child(t, "apply", root, at) {
			t.Fatal("the swap was never seen")
		}
		if data, err := os.ReadFile(filepath.Join(root, "edit")); err == nil && string(data) == "new text" {
			break
		}
		settled(t, root, was)
	}
	must(t, os.WriteFile(filepath.Join(root, "mine"), []byte("mine"), 0o644))
	must(t, os.Rename(filepath.Join(root, "mine"), filepath.Join(root, "edit")))
	r, err := Recover(root + ".journal")
	must(t, err)
	if r.Completed || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "kept as") {
		t.Errorf("%+v", r)
	}
	got := look(t, root)
	kept := maps.Clone(got)
	maps.DeleteFunc(kept, func(p, _ string) bool { return !strings.HasPrefix(p, tmpPrefix) })
	if len(kept) != 1 {
		t.Errorf("%v", kept)
	}
	for _, line := range kept {
		same(t, line, "-rw-r--r-- ancient old text")
	}
	same(t, got["edit"], "-rw-r--r-- mine")
}

package harness

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// Need says what a test cannot do without. A host without it is told of; in CI,
// which is made to have everything, that is a failure.
func Need(t testing.TB, have bool, what string) {
	t.Helper()
	switch {
	case have:
	case os.Getenv("CI") == "true":
		t.Fatalf("needs %s, which CI must have", what)
	default:
		t.Skipf("needs %s", what)
	}
}

// NeedProgram needs a program of the host.
func NeedProgram(t testing.TB, name string) {
	t.Helper()
	_, err := exec.LookPath(name)
	Need(t, err == nil, "the program "+name)
}

// NeedGroups needs control groups the daemon can make: it has one of its own.
func NeedGroups(t testing.TB) {
	t.Helper()
	Shared().StartDaemon(t)
	Only(t, "root") // here; a user has them only when they are delegated
	Need(t, len(Shared().Groups()) > 0, "control groups")
}

// Only runs a test in some of the modes: the suite is run in all of them, so
// that what is left out here is not left out.
func Only(t testing.TB, modes ...string) {
	t.Helper()
	if m := Mode(); !slices.Contains(modes, m) {
		t.Skipf("the daemon runs as %q; this is about %q", m, modes)
	}
}

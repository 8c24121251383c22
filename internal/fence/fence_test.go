package fence

import "testing"

// TestGone: a build people get has no way to lose a fence.
func TestGone(t *testing.T) {
	if got := Gone([]string{Mask, Seccomp}, Mask); got != Removable {
		t.Errorf("Gone = %v in a build where Removable is %v", got, Removable)
	}
	if Gone([]string{Mask}, Seccomp) || Gone(nil, Mask) || Gone([]string{""}, Mask) {
		t.Error("a fence nobody took away is gone")
	}
}

func TestStructural(t *testing.T) {
	for _, name := range []string{Bounding, NoNewPrivs, Dumpable, Signals, Mask, CloseFDs, MagicLinks, PeerPID, Seccomp} {
		if !Structural(name) {
			t.Errorf("%s is a fence of ours", name)
		}
	}
	for _, name := range []string{"", "mount", "ptrace", "MASK"} {
		if Structural(name) {
			t.Errorf("%q is not a fence of ours", name)
		}
	}
}

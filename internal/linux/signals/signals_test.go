package signals

import "testing"

func TestNamesAndNumbers(t *testing.T) {
	for name, n := range map[string]int{"SIGHUP": 1, "SIGINT": 2, "SIGKILL": 9, "SIGTERM": 15, "SIGWINCH": 28} {
		if Number(name) != n || Name(n) != name {
			t.Errorf("%s is %d, %d is %s", name, Number(name), n, Name(n))
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, name := range []string{"", "TERM", "sigterm", "SIGNONSENSE", "9"} {
		if n := Number(name); n != 0 {
			t.Errorf("%q is %d", name, n)
		}
	}
	for n, want := range map[int]string{34: "SIG34", 64: "SIG64", 0: "SIG0", 99999: "SIG99999", -5: "SIG-5"} {
		if got := Name(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

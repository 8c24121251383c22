package server

import (
	"slices"
	"strconv"
	"strings"

	"github.com/coop-dev/coop/internal/sandbox"
)

// signalNames are Linux's by number, from 1; the same on every architecture
// that Coop runs on.
func signalNames() []string {
	return []string{
		"HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV",
		"USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN",
		"TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
	}
}

// signalName accepts SIGINT, INT, int and 2, and returns SIGINT.
func signalName(s string) (string, error) {
	names := signalNames()
	if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= len(names) {
		return "SIG" + names[n-1], nil
	}
	name := strings.TrimPrefix(strings.ToUpper(s), "SIG")
	if !slices.Contains(names, name) {
		return "", sandbox.Errorf(sandbox.Invalid, "unknown signal %.32q", s).WithHint("a name such as SIGTERM, or a number from 1 to %d", len(names))
	}
	return "SIG" + name, nil
}

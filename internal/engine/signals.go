package engine

import (
	"strconv"
	"strings"

	"github.com/coop-dev/coop/internal/linux/signals"
	"github.com/coop-dev/coop/internal/sandbox"
)

// SignalNumber reads SIGTERM, TERM or 15.
func SignalNumber(name string) (int, error) {
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n <= 64 {
		return n, nil
	}
	full := strings.ToUpper(name)
	if !strings.HasPrefix(full, "SIG") {
		full = "SIG" + full
	}
	if n := signals.Number(full); n > 0 {
		return n, nil
	}
	return 0, sandbox.Errorf(sandbox.Invalid, "unknown signal %q", name).WithHint("a name such as TERM or a number from 1 to 64")
}

func signalName(n int) string { return signals.Name(n) }

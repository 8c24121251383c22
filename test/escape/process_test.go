package escape

import (
	"strings"
	"testing"

	"github.com/coop-dev/coop/internal/launch"
)

// afterName are the fields of /proc/PID/stat behind the name, which may hold
// anything: state first.
func afterName(stat string) []string {
	return strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
}

// initPID is PID 1 of the box as the host counts.
func (b *box) initPID(t *testing.T) int {
	t.Helper()
	s, err := launch.ReadState(b.home.Dir + "/sandboxes/" + b.id)
	if err != nil {
		t.Fatal(err)
	}
	return s.PID
}

package escape

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// envTable names a file to write the table to, as Markdown.
const envTable = "COOP_ESCAPE_TABLE"

type row struct {
	attack
	Result string
	Errno  []syscall.Errno
	Why    string
}

// table collects what the attacks came to; they run side by side.
type table struct {
	mu   sync.Mutex
	rows []row
}

func (tb *table) add(r row, failed bool) {
	if r.Allowed != "" {
		r.Result = "allowed"
	}
	if failed {
		r.Result = "**NOT HELD**"
	}
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.rows = append(tb.rows, r)
}

// publish prints the table and writes it where it is asked for.
func (tb *table) publish(t *testing.T, mode string) {
	text := tb.markdown(mode)
	t.Log("\n" + text)
	if file := os.Getenv(envTable); file != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

func (tb *table) markdown(mode string) string {
	slices.SortStableFunc(tb.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Name, b.Name))
	})
	var b strings.Builder
	fmt.Fprintf(&b, "Daemon running as %s.\n\n", mode)
	b.WriteString("| class | attack | result | fence | second fence |\n|---|---|---|---|---|\n")
	for _, r := range tb.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.Class, r.title(), r.result(), r.fence(), r.second())
	}
	return b.String()
}

func (r row) title() string {
	if r.CVE == "" {
		return r.Attack
	}
	return r.Attack + " (" + r.CVE + ")"
}

func (r row) result() string {
	var names []string
	for _, e := range r.Errno {
		names = append(names, cmp.Or(unix.ErrnoName(e), "?"))
	}
	text := r.Result
	if len(names) > 0 {
		text += " " + strings.Join(names, ", ")
	}
	if reason := cmp.Or(r.Allowed, r.Why); reason != "" {
		text += ": " + reason
	}
	return text
}

func (r row) fence() string {
	var parts []string
	if len(r.Fence) > 0 {
		parts = append(parts, "`"+strings.Join(r.Fence, "`, `")+"`")
	}
	if r.Fixed != "" {
		parts = append(parts, r.Fixed)
	}
	if len(r.Open) > 0 && r.Allowed == "" {
		parts = append(parts, "opened only by `"+strings.Join(r.Open, " ")+"`")
	}
	return strings.Join(parts, "; ")
}

func (r row) second() string {
	if len(r.Opens) > 0 {
		return r.Second + " (decides alone)"
	}
	if len(r.Both) > 0 {
		return r.Second + " (works without both)"
	}
	return r.Second
}

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/config"
)

// The rules of output, for every verb:
//
//   - Results go to stdout, everything else to stderr.
//   - A message is one line, "coop: " and lower case. What to do about it is a
//     line of its own, "hint: ".
//   - --json prints API types unchanged. -q prints ids and names only and
//     silences warnings and notes, never errors.
//   - Whatever comes from outside (names, paths, commands, messages) is
//     escaped: see escape.go. Only a sandboxed command's own output, which run
//     and exec pass on, is not touched.
//   - Colours only on a terminal, and not with NO_COLOR.
//   - A result is written with one write: an error of it is the verb's error.

// message writes one line to stderr. There is nowhere to tell that it failed.
func (a *app) message(format string, args ...any) {
	_, _ = fmt.Fprintln(a.streams.Err, "coop: "+escape(fmt.Sprintf(format, args...)))
}

func (a *app) hint(format string, args ...any) {
	_, _ = fmt.Fprintln(a.streams.Err, "hint: "+escape(fmt.Sprintf(format, args...)))
}

// note is a message that -q silences.
func (a *app) note(format string, args ...any) {
	if !a.flags.quiet {
		a.message(format, args...)
	}
}

// detail is a message that -v asks for.
func (a *app) detail(format string, args ...any) {
	if a.flags.verbose {
		a.message(format, args...)
	}
}

// warnDegraded tells which fences a new sandbox lacks.
func (a *app) warnDegraded(sb *api.Sandbox) {
	for _, d := range sb.Degraded {
		a.note("warning: degraded: %s: %s", d.Fence, d.Reason)
	}
}

// reportError is the last thing an invocation prints.
func (a *app) reportError(err error) {
	switch {
	case err == nil || err.Error() == "" || brokenPipe(err):
		return
	case errors.Is(err, context.Canceled):
		a.message("interrupted")
		return
	}
	var bad *config.Error
	if errors.As(err, &bad) {
		a.reportProblems(bad)
		return
	}
	a.message("%s", err)
	var mistake *usageError
	var failure *api.Error
	switch {
	case errors.As(err, &mistake) && mistake.hint != "":
		a.hint("%s", mistake.hint)
	case errors.As(err, &failure) && failure.Hint != "":
		a.hint("%s", failure.Hint)
	}
}

// printLine prints a result of one line.
func (a *app) printLine(s string) error {
	_, err := fmt.Fprintln(a.streams.Out, escape(s))
	return err
}

// printJSON prints an API type as it is; only how a string is written differs,
// never what it says.
func (a *app) printJSON(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = a.streams.Out.Write(append(escapeJSON(data), '\n'))
	return err
}

// printTable prints rows of cells, each escaped, in columns.
func (a *app) printTable(rows [][]string) error {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				_, _ = io.WriteString(w, "\t") // a Buffer does not fail
			}
			_, _ = io.WriteString(w, escape(cell))
		}
		_, _ = io.WriteString(w, "\n")
	}
	_ = w.Flush()
	_, err := a.streams.Out.Write(b.Bytes())
	return err
}

// colours reports whether stdout may carry them.
func (a *app) colours() bool {
	return a.onTerminal() && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// onTerminal reports whether a person looks at stdout, so that nothing from
// inside a sandbox may reach it as it is.
func (a *app) onTerminal() bool {
	f, ok := a.streams.Out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/config"
)

// viewFlags are what the verbs that show a terminal share.
type viewFlags struct{ detachKey string }

func (f *viewFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.detachKey, "detach-key", "", `key that leaves the terminal, as "ctrl-p,ctrl-q" or "none" (default "`+config.Defaults().Terminal.DetachKey+`")`)
}

// check finds a mistake before anything is made.
func (f *viewFlags) check() error {
	if f.detachKey == "" {
		return nil
	}
	_, err := f.keys()
	return err
}

func (f *viewFlags) keys() (config.DetachKey, error) {
	keys, err := config.ParseDetachKey(f.detachKey)
	if err != nil {
		return nil, &usageError{message: "--detach-key: " + err.Error(), hint: config.DetachKeyHint}
	}
	return keys, nil
}

// errNoTerminal is a view without anything to show it on.
func errNoTerminal(hint string) error {
	return &usageError{message: "stdin and stdout are not a terminal", hint: hint}
}

// target is a terminal to show.
type target struct {
	sandbox  *api.Sandbox
	number   int
	readOnly bool
	older    bool // lines before the screen, the first time
	keys     config.DetachKey
}

// showTerminal lets a person work on a terminal of a sandbox, until its program
// ends or they detach; then it says how to come back.
func (a *app) showTerminal(ctx context.Context, tty *localTerminal, t target) outcome {
	v := &view{tty: tty, open: a.opener(t), keys: t.keys, readOnly: t.readOnly, agent: t.number == 0}
	cols, rows := tty.size()
	first, err := v.open(ctx, cols, rows, true)
	if err != nil {
		return outcome{err: err}
	}
	o := v.run(ctx, first)
	o.shown = true
	if o.detached {
		a.sayDetached(tty, t)
	} else if o.result == nil {
		tty.newLine()
	}
	return o
}

// openTerminal makes a terminal, or finds the one to use again, and shows it.
func (a *app) openTerminal(ctx context.Context, c *client.Client, tty *localTerminal, ref string, req api.TerminalRequest, f viewFlags) outcome {
	sb, err := c.Get(ctx, ref)
	if err != nil {
		return outcome{err: err}
	}
	keys, err := a.detachKey(f, sb)
	if err != nil {
		return outcome{err: err}
	}
	req.Cols, req.Rows = tty.size()
	t, err := c.OpenTerminal(ctx, sb.ID, req)
	if err != nil {
		return outcome{err: err}
	}
	return a.showTerminal(ctx, tty, target{sandbox: sb, number: t.Number, keys: keys})
}

// opener attaches with a client of its own each time: the daemon it asks, and
// starts if need be, may be another one by then.
func (a *app) opener(t target) opener {
	return func(ctx context.Context, cols, rows int, start bool) (viewStream, error) {
		c, err := a.client(ctx, start) // the version was spoken of
		if err != nil {
			return nil, err
		}
		defer c.Close()
		o := client.TerminalOptions{Cols: cols, Rows: rows, ReadOnly: t.readOnly, Scrollback: t.older}
		s, err := c.AttachTerminal(ctx, t.sandbox.ID, t.number, o)
		if err != nil {
			return nil, err // not a nil *client.Stream in an interface
		}
		t.older = false
		return s, nil
	}
}

func (a *app) sayDetached(tty *localTerminal, t target) {
	tty.newLine()
	a.note("detached from terminal %d of %s; it goes on running", t.number, t.sandbox.Name)
	if a.flags.quiet {
		return
	}
	back := "coop attach " + t.sandbox.Name
	if t.number != 0 {
		back += " --terminal " + strconv.Itoa(t.number)
	}
	a.hint("come back with %s", back)
}

// programEnd is the end of a view whose exit status is nobody's: the agent's.
func (a *app) programEnd(ctx context.Context, o outcome, tty *localTerminal, t target) error {
	if o.err != nil || o.detached {
		return o.err
	}
	tty.newLine()
	what := fmt.Sprintf("the program on terminal %d", t.number)
	switch {
	case a.isStopped(ctx, t.sandbox):
		a.note("sandbox %s was stopped", t.sandbox.Name)
	case o.result.Signal != "":
		a.note("%s was ended by %s", what, o.result.Signal)
	default:
		a.note("%s has ended with status %d", what, o.result.ExitCode)
	}
	return nil
}

// isStopped tells why a program has ended. A daemon that does not answer any
// more has no reason to give.
func (a *app) isStopped(ctx context.Context, sb *api.Sandbox) bool {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c, err := a.peek(ctx)
	if err != nil {
		return false
	}
	defer c.Close()
	now, err := c.Get(ctx, sb.ID)
	return err == nil && now.Status == "stopped"
}

// commandEnd is the end of one whose status is ours.
func commandEnd(o outcome) error {
	if o.err != nil || o.detached {
		return o.err
	}
	return finished(o.result)
}

// terminalNumber reads the N of a command line.
func terminalNumber(word string) (int, error) {
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 {
		return 0, &usageError{message: fmt.Sprintf("%q is no terminal's number", word), hint: "coop terminal ls lists them"}
	}
	return n, nil
}

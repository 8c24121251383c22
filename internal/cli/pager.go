package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
)

// page writes something long: through a pager on a terminal, plainly elsewhere.
// A pager that is not there is no reason to show nothing.
func (a *app) page(ctx context.Context, write func(*painter)) error {
	to, done := a.pager(ctx)
	p := &painter{w: bufio.NewWriter(to), colours: a.colours()}
	write(p)
	if err := p.w.(*bufio.Writer).Flush(); p.err == nil {
		p.err = err
	}
	if err := done(); p.err == nil {
		p.err = err
	}
	if brokenPipe(p.err) { // the pager was left before the end
		return nil
	}
	return p.err
}

// pager starts what COOP_PAGER, PAGER or habit names. less must not wait when it
// all fits, must let colours through and must leave it on the screen.
func (a *app) pager(ctx context.Context) (io.Writer, func() error) {
	none := func() error { return nil }
	words := strings.Fields(firstOf(os.Getenv("COOP_PAGER"), os.Getenv("PAGER"), "less"))
	if !a.onTerminal() || os.Getenv("TERM") == "dumb" || len(words) == 0 || words[0] == "cat" {
		return a.streams.Out, none
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return a.streams.Out, none
	}
	cmd := exec.CommandContext(ctx, path, words[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Env = a.streams.Out, a.streams.Err, os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return a.streams.Out, none
	}
	if err := cmd.Start(); err != nil {
		return a.streams.Out, none
	}
	return in, func() error {
		err := errors.Join(in.Close(), cmd.Wait())
		var exit *exec.ExitError
		if errors.As(err, &exit) { // how a pager ends is not our result
			return nil
		}
		return err
	}
}

func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

type approveOptions struct {
	hunks       []string
	interactive bool
	flagged     bool
	force       bool
	auto        bool
	commit      bool
	commits     bool
	message     string
	author      string
}

func newApprove(a *app) *cobra.Command {
	o := &approveOptions{}
	cmd := &cobra.Command{
		Use:   "approve [PATH…]",
		Short: "apply changes to the project",
		Long: `Applies what a sandbox changed to the project: everything, or the files and
directories that are named, or single hunks; all of it or, if anything is in the
way, nothing.

Flagged files, which can make this computer run code later, are only part of
"everything" when they are confirmed.

  coop approve                     everything
  coop approve src README.md       some files
  coop approve --hunk main.go:0    one hunk; coop diff shows them, counted from 0
  coop approve -i                  one hunk after the other, like git add -p
  coop approve --commit -m "…"     and commit exactly that`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), a, args) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.hunks, "hunk", nil, "PATH:N, one hunk of a file; may be repeated")
	f.BoolVarP(&o.interactive, "interactive", "i", false, "ask about every hunk")
	f.BoolVar(&o.flagged, "flagged", false, "flagged files too")
	f.BoolVar(&o.force, "force", false, "overwrite what has changed in the project too; a copy is kept")
	f.BoolVar(&o.auto, "auto", false, "only if everything is within the policy's thresholds")
	f.BoolVar(&o.commit, "commit", false, "commit what was applied, and nothing else")
	f.StringVarP(&o.message, "message", "m", "", "message of the commit")
	f.StringVar(&o.author, "author", "", "author of the commit: agent, reviewer, coauthor or \"Name <address>\"")
	f.BoolVar(&o.commits, "commits", false, "take over the agent's own commits")
	return cmd
}

func (o *approveOptions) run(ctx context.Context, a *app, args []string) error {
	if err := o.check(a, args); err != nil {
		return err
	}
	c, ref, err := a.reach(ctx, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	req, err := o.request(ctx, a, c, ref, args)
	if err != nil || req == nil {
		return err
	}
	res, err := c.Approve(ctx, ref, *req)
	if err != nil {
		return a.refusedConflicts(err)
	}
	return o.finish(ctx, a, c, ref, *req, res)
}

func (o *approveOptions) check(a *app, args []string) error {
	switch {
	case o.interactive && (len(o.hunks) > 0 || a.flags.json):
		return &usageError{message: "-i asks; it goes with neither --hunk nor --json"}
	case (o.message != "" || o.author != "") && !o.commit:
		return &usageError{message: "-m and --author are about a commit", hint: "add --commit"}
	case o.commits && (len(args) > 0 || len(o.hunks) > 0 || o.interactive || o.commit):
		return &usageError{message: "--commits takes over whole commits"}
	case o.auto && (o.force || o.flagged || o.interactive):
		return &usageError{message: "--auto decides by itself"}
	}
	return nil
}

// request is what the flags ask for; nil when an interactive reviewer chose
// nothing.
func (o *approveOptions) request(ctx context.Context, a *app, c *client.Client, ref string, args []string) (*api.ApproveRequest, error) {
	req := &api.ApproveRequest{Flagged: o.flagged, Force: o.force, Auto: o.auto, Commits: o.commits}
	if o.commit {
		req.Commit = &api.CommitRequest{Message: o.message, Author: o.author}
	}
	paths, err := a.workspacePaths(ctx, c, ref, args)
	if err != nil {
		return nil, err
	}
	if o.interactive {
		return o.ask(ctx, a, c, ref, paths, req)
	}
	for _, h := range o.hunks {
		one, err := o.hunk(ctx, a, c, ref, h)
		if err != nil {
			return nil, err
		}
		req.Hunks = append(req.Hunks, one)
	}
	for _, p := range paths {
		if p == "." {
			return req, nil // the workspace itself: everything
		}
	}
	req.Files = paths
	return req, nil
}

// hunk reads PATH:N.
func (o *approveOptions) hunk(ctx context.Context, a *app, c *client.Client, ref, word string) (api.HunkRef, error) {
	i := strings.LastIndexByte(word, ':')
	n, err := strconv.Atoi(word[i+1:])
	if i <= 0 || err != nil || n < 0 {
		return api.HunkRef{}, &usageError{message: fmt.Sprintf("%q is not PATH:N", word), hint: "hunks are counted from 0 within their file"}
	}
	p, err := a.workspacePaths(ctx, c, ref, []string{word[:i]})
	if err != nil {
		return api.HunkRef{}, err
	}
	return api.HunkRef{FilePath: p[0], Index: n}, nil
}

// finish tells what happened, and asks about flagged files on a terminal.
func (o *approveOptions) finish(ctx context.Context, a *app, c *client.Client, ref string, req api.ApproveRequest, res *api.ApproveResult) error {
	if err := a.printApproved(res); err != nil {
		return err
	}
	if len(res.Flagged) == 0 || !a.canAsk() || a.flags.json {
		return nil
	}
	yes, err := a.confirm(fmt.Sprintf("apply the %d flagged too?", len(res.Flagged)))
	if err != nil || !yes {
		return err
	}
	req.Files, req.Hunks, req.Flagged = res.Flagged, nil, true
	if res, err = c.Approve(ctx, ref, req); err != nil {
		return a.refusedConflicts(err)
	}
	return a.printApproved(res)
}

func (a *app) printApproved(res *api.ApproveResult) error {
	a.tell(res.Notes)
	if a.flags.json {
		return a.printJSON(res)
	}
	for _, p := range res.Applied {
		if err := a.printLine(p); err != nil {
			return err
		}
	}
	for _, c := range res.Conflicts {
		switch c.Resolution {
		case "merged":
			a.note("merged with the project's own changes: %s", c.FilePath)
		case "overwritten":
			a.note("overwrote the project's version of %s; a copy is %s", c.FilePath, orDash(c.Saved))
		}
	}
	for _, p := range res.Flagged {
		a.note("not applied because it is flagged: %s", p)
	}
	if len(res.Flagged) > 0 && !a.canAsk() {
		a.hint("look at them with coop diff, then name them or add --flagged")
	}
	if res.CommitHash != "" {
		a.note("committed %s", res.CommitHash)
	}
	a.note("%s", settledLine(len(res.Applied), "applied", res.Remaining))
	return nil
}

// settledLine sums a decision up.
func settledLine(n int, what string, remaining int) string {
	line := fmt.Sprintf("%d %s %s", n, plural(n, "change"), what)
	if remaining == 0 {
		return line + ", nothing is pending"
	}
	return fmt.Sprintf("%s, %d pending", line, remaining)
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// tell passes on what a reviewer has to know first.
func (a *app) tell(notes []string) {
	for _, n := range notes {
		a.message("%s", n)
	}
}

// refusedConflicts lists the conflicts an error came with.
func (a *app) refusedConflicts(err error) error {
	var failure *api.Error
	if !errors.As(err, &failure) {
		return err
	}
	list, _ := failure.Details["conflicts"].([]any)
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["resolution"] == "refused" {
			a.note("conflict: %v: %v", c["filePath"], c["reason"])
		}
	}
	return err
}

// canAsk reports whether there is a person to answer.
func (a *app) canAsk() bool {
	in, ok := a.streams.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return false
	}
	out, ok := a.streams.Err.(*os.File) // where questions are asked
	return ok && term.IsTerminal(int(out.Fd()))
}

// confirm asks a question whose answer is no unless it begins with y.
func (a *app) confirm(question string) (bool, error) {
	if _, err := fmt.Fprintf(a.streams.Err, "coop: %s [y/N] ", escape(question)); err != nil {
		return false, err
	}
	line, err := readAnswer(a.streams.In)
	return strings.HasPrefix(strings.ToLower(line), "y"), err
}

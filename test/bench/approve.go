package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/coop-dev/coop/api"
)

// approved is how many files the approve of the bench applies.
const approved = 1000

// approves compares bringing a thousand files into a project, all or nothing and
// durable, with cp of the same files.
func approves(ctx context.Context, b *coop, dir string, n int) error {
	t := newTable()
	cpRow, coopRow := fmt.Sprintf("cp of %d files", approved), fmt.Sprintf("coop approve of %d files", approved)
	for i := range n {
		tree, copied := filepath.Join(dir, fmt.Sprint("approve-", i)), filepath.Join(dir, fmt.Sprint("cp-", i))
		for _, d := range []string{tree, copied} {
			if err := makeProject(ctx, d, approved); err != nil {
				return err
			}
		}
		if err := approveOnce(ctx, b, t, tree, copied, cpRow, coopRow); err != nil {
			return err
		}
		for _, d := range []string{tree, copied} {
			if err := os.RemoveAll(d); err != nil {
				return err
			}
		}
	}
	t.compare(cpRow)
	return nil
}

func approveOnce(ctx context.Context, b *coop, t *table, tree, copied, cpRow, coopRow string) error {
	sb, err := b.c.Create(ctx, api.CreateRequest{ScopePath: tree})
	if err != nil {
		return err
	}
	defer func() { _ = b.c.Delete(context.WithoutCancel(ctx), sb.ID) }() // the temporary home goes anyway
	r, err := b.c.Exec(ctx, sb.ID, api.ExecRequest{Command: `find . -type f | while read -r f; do echo "a line more" >>"$f"; done`})
	if err != nil || r.ExitCode != 0 {
		return fmt.Errorf("change: %w %+v", err, r)
	}
	err = t.time(coopRow, func() error {
		res, err := b.c.Approve(ctx, sb.ID, api.ApproveRequest{})
		if err == nil && len(res.Applied) != approved {
			err = fmt.Errorf("%d files applied", len(res.Applied))
		}
		return err
	})
	if err != nil {
		return err
	}
	// The same files, back over the old ones.
	return t.time(cpRow, func() error { return exec.CommandContext(ctx, "cp", "-r", tree+"/.", copied).Run() })
}

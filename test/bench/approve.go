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
	from := filepath.Join(dir, "changed")
	if err := makeProject(ctx, from, approved); err != nil {
		return err
	}
	if err := exec.CommandContext(ctx, "sh", "-ec", "cd "+from+"; "+changeAll).Run(); err != nil {
		return err
	}
	for i := range n {
		tree, copied := filepath.Join(dir, fmt.Sprint("approve-", i)), filepath.Join(dir, fmt.Sprint("cp-", i))
		for _, d := range []string{tree, copied} {
			if err := makeProject(ctx, d, approved); err != nil {
				return err
			}
		}
		cp := func() error { return t.time(cpRow, exec.CommandContext(ctx, "cp", "-r", from+"/.", copied).Run) }
		approve := func() error { return approveOnce(ctx, b, t, tree, coopRow) }
		both := []func() error{cp, approve}
		if i%2 == 1 { // whoever comes second finds the disk busy with the first
			both = []func() error{approve, cp}
		}
		for _, one := range both {
			if err := one(); err != nil {
				return err
			}
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

// changeAll appends a line to every file.
const changeAll = `find . -type f | while read -r f; do echo "a line more" >>"$f"; done`

func approveOnce(ctx context.Context, b *coop, t *table, tree, coopRow string) error {
	sb, err := b.c.Create(ctx, api.CreateRequest{ScopePath: tree})
	if err != nil {
		return err
	}
	defer func() { _ = b.c.Delete(context.WithoutCancel(ctx), sb.ID) }() // the temporary home goes anyway
	r, err := b.c.Exec(ctx, sb.ID, api.ExecRequest{Command: changeAll})
	if err != nil || r.ExitCode != 0 {
		return fmt.Errorf("change: %w %+v", err, r)
	}
	return t.time(coopRow, func() error {
		res, err := b.c.Approve(ctx, sb.ID, api.ApproveRequest{})
		if err == nil && len(res.Applied) != approved {
			err = fmt.Errorf("%d files applied", len(res.Applied))
		}
		return err
	})
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/coop-dev/coop/api"
)

// What large projects cost: making a sandbox must not depend on their size, a
// diff only on what changed. It is a bench of its own (-projects) because making
// millions of files takes minutes.

// perDir is how many files a directory of a project has.
const perDir = 100

// projects measures both. files is the size of the largest project.
func projects(ctx context.Context, b *coop, dir string, files, n int) error {
	sizes := []int{1000, files / 10, files}
	var trees []string
	for _, size := range sizes {
		tree := filepath.Join(dir, fmt.Sprint("project-", size))
		fmt.Printf("making a project of %d files\n", size)
		if err := makeProject(ctx, tree, size); err != nil {
			return err
		}
		trees = append(trees, tree)
	}
	if err := creates(ctx, b, sizes, trees, n); err != nil {
		return err
	}
	if err := approves(ctx, b, dir, n); err != nil {
		return err
	}
	return diffs(ctx, b, dir, trees[len(trees)-1], files, n)
}

func makeProject(ctx context.Context, tree string, files int) error {
	for i := range files {
		if i%perDir == 0 {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, fileName(i))), 0o755); err != nil {
				return err
			}
		}
		// Few contents, so that git has few objects to write.
		text := strings.Repeat(fmt.Sprintf("line of a file of kind %d\n", i%100), 10)
		if err := os.WriteFile(filepath.Join(tree, fileName(i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func fileName(i int) string {
	return fmt.Sprintf("part%03d/dir%03d/file%d.txt", i/perDir/100, i/perDir%100, i%perDir)
}

func creates(ctx context.Context, b *coop, sizes []int, trees []string, n int) error {
	t := newTable()
	for range n {
		for i, tree := range trees {
			begin := time.Now()
			sb, err := b.c.Create(ctx, api.CreateRequest{ScopePath: tree})
			if err != nil {
				return err
			}
			t.add(fmt.Sprintf("create on %d files", sizes[i]), time.Since(begin))
			if err := b.c.Delete(ctx, sb.ID); err != nil {
				return err
			}
		}
	}
	t.compare(fmt.Sprintf("create on %d files", sizes[0]))
	return nil
}

// diffs compares a diff with git status and git diff of the same change in an
// equal tree.
func diffs(ctx context.Context, b *coop, dir, tree string, files, n int) error {
	repo := filepath.Join(dir, "repo")
	fmt.Printf("making a git repository of %d files\n", files)
	if err := makeProject(ctx, repo, files); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "all"}} {
		if err := git(ctx, repo, io.Discard, args...); err != nil {
			return err
		}
	}
	for _, changed := range []int{10, 1000, 100_000} {
		if changed > files {
			break
		}
		if err := diffOf(ctx, b, tree, repo, files, changed, n); err != nil {
			return err
		}
	}
	return nil
}

func git(ctx context.Context, repo string, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"}, args...)...)
	var errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = repo, out, &errs
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", args[0], err, &errs)
	}
	return nil
}

// change appends a line to files that lie evenly in the tree.
const change = `while read -r f; do echo "a line more" >>"$f"; done`

func diffOf(ctx context.Context, b *coop, tree, repo string, files, changed, n int) error {
	var list bytes.Buffer
	for i := range changed {
		fmt.Fprintln(&list, fileName(i*(files/changed)))
	}
	sh := exec.CommandContext(ctx, "sh", "-ec", change)
	sh.Dir, sh.Stdin = repo, bytes.NewReader(list.Bytes())
	if err := sh.Run(); err != nil {
		return err
	}
	sb, err := b.c.Create(ctx, api.CreateRequest{ScopePath: tree})
	if err != nil {
		return err
	}
	defer func() { _ = b.c.Delete(context.WithoutCancel(ctx), sb.ID) }() // the temporary home goes anyway
	if err := b.c.WriteFile(ctx, sb.ID, "/tmp/list", &list); err != nil {
		return err
	}
	r, err := b.c.Exec(ctx, sb.ID, api.ExecRequest{Command: change + " </tmp/list"})
	if err != nil || r.ExitCode != 0 {
		return fmt.Errorf("change: %w %+v", err, r)
	}
	t := newTable()
	gitRow, coopRow := fmt.Sprintf("git status + git diff of %d files", changed), fmt.Sprintf("coop diff of %d files", changed)
	for range max(3, min(n, 1_000_000/changed)) {
		if err := t.time(gitRow, func() error { return gitDiff(ctx, repo, changed) }); err != nil {
			return err
		}
		if err := t.time(coopRow, func() error { return coopDiff(ctx, b, sb.ID, changed) }); err != nil {
			return err
		}
	}
	t.compare(gitRow)
	return git(ctx, repo, io.Discard, "checkout", "-q", ".")
}

// countHeaders checks that a diff is about as many files as were changed.
type countHeaders struct{ n int }

func (c *countHeaders) Write(p []byte) (int, error) {
	c.n += bytes.Count(p, []byte("\n+a line more"))
	return len(p), nil
}

func (c *countHeaders) want(changed int) error {
	if c.n < changed*99/100 || c.n > changed { // one may lie across two writes
		return fmt.Errorf("a diff of %d files has %d", changed, c.n)
	}
	return nil
}

func gitDiff(ctx context.Context, repo string, changed int) error {
	if err := git(ctx, repo, io.Discard, "status", "--porcelain"); err != nil {
		return err
	}
	var c countHeaders
	if err := git(ctx, repo, &c, "diff"); err != nil {
		return err
	}
	return c.want(changed)
}

func coopDiff(ctx context.Context, b *coop, id string, changed int) error {
	body, err := b.c.Patch(ctx, id, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	var c countHeaders
	if _, err := io.Copy(&c, body); err != nil {
		return err
	}
	return c.want(changed)
}

// compare prints the rows with their ratio to one of them.
func (t *table) compare(to string) {
	base := at(sorted(t.rows[to]), 50)
	for _, row := range t.order {
		s := sorted(t.rows[row])
		fmt.Printf("%-45s p50 %10.2f ms  p95 %10.2f ms  ratio %.3f  (%d rounds)\n", row, ms(at(s, 50)), ms(at(s, 95)), float64(at(s, 50))/float64(base), len(s))
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/coop-dev/coop/api"
)

// workload is what agents do all day, as a script for a project directory.
type workload struct {
	name, prepare, run string
}

func workloads() []workload {
	return []workload{
		// The second status of a repository only looks; the first also writes.
		{"git status of 20 000 files", "git status >/dev/null", "git status >/dev/null"},
		// What npm ci does to a disk: a tree goes, and thousands of small files come.
		{"npm ci-like: 5 000 files in 500 directories, made and removed", "true", `
			rm -rf node_modules; mkdir node_modules; cd node_modules
			seq 1 500 | xargs mkdir
			for d in *; do for f in 1 2 3 4 5 6 7 8 9 10; do echo "module.exports = $f" >$d/$f.js; done; done
			cat */*.js >/dev/null; cd ..; rm -rf node_modules`},
	}
}

// measureWorkloads runs each inside a sandbox and outside, in turns.
func measureWorkloads(ctx context.Context, box *coop, dir string, n int) error {
	project := filepath.Join(dir, "workloads")
	if err := fill(project, 20000); err != nil {
		return err
	}
	outside := filepath.Join(dir, "outside")
	if out, err := exec.Command("cp", "-a", project, outside).CombinedOutput(); err != nil {
		return fmt.Errorf("copy: %w %s", err, out)
	}
	sb, err := box.c.Create(ctx, api.CreateRequest{ScopePath: project})
	if err != nil {
		return err
	}
	defer box.c.Delete(ctx, sb.ID)
	for _, w := range workloads() {
		t := newTable()
		in := func(script string) error { return box.script(ctx, sb.ID, script) }
		out := func(script string) error { return hostScript(outside, script) }
		if err := errors.Join(in(w.prepare), out(w.prepare), in(w.run), out(w.run)); err != nil {
			return err
		}
		for range max(5, n/5) {
			err := errors.Join(
				t.time("outside", func() error { return out(w.run) }),
				t.time("inside", func() error { return in(w.run) }),
			)
			if err != nil {
				return err
			}
		}
		low, mid, high := t.ratio(bound{row: "inside", base: "outside"})
		fmt.Printf("%s: %.0f ms outside, %.0f ms inside; promise: ≤ 1.2 ×: %.2f (95 %% interval %.2f to %.2f)\n", w.name,
			ms(at(sorted(t.rows["outside"]), 50)), ms(at(sorted(t.rows["inside"]), 50)), mid, low, high)
	}
	return nil
}

// fill makes a repository of so many small files, all committed.
func fill(dir string, files int) error {
	for i := range files {
		name := filepath.Join(dir, fmt.Sprintf("d%03d", i/100), fmt.Sprintf("f%05d.txt", i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
			return err
		}
	}
	return hostScript(dir, "git init -q . && git config gc.auto 0 && git add . && git -c user.name=x -c user.email=x@example.com commit -q -m x")
}

func hostScript(dir, script string) error {
	cmd := exec.Command("/bin/sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LANG=C.UTF-8", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("outside: %w %s", err, out)
	}
	return nil
}

func (b *coop) script(ctx context.Context, id, script string) error {
	env := map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
	r, err := b.c.Exec(ctx, id, api.ExecRequest{Command: "/bin/sh", Args: &[]string{"-ec", script}, Env: env, TimeoutMs: time.Minute.Milliseconds()})
	if err == nil && r.ExitCode != 0 {
		err = fmt.Errorf("inside: exit status %d: %s", r.ExitCode, strings.TrimSpace(r.Stderr))
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

// coop is a daemon with a home of its own.
type coop struct {
	bin, project string
	env          []string
	c            *client.Client
	kept         string // a sandbox that stays, for execs
}

func startCoop(ctx context.Context, bin, dir string) (*coop, error) {
	b := &coop{bin: bin, project: filepath.Join(dir, "project")}
	home := filepath.Join(dir, "home")
	b.env = append(os.Environ(), "COOP_HOME="+home)
	if err := os.Mkdir(b.project, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(b.project, "README"), []byte("hello\n"), 0o644); err != nil {
		return nil, err
	}
	// The first command starts the daemon and prepares the host image.
	if out, err := b.command("run", "--rm", "--", "true").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("coop run: %w\n%s", err, out)
	}
	var err error
	if b.c, err = client.New(client.Options{Socket: filepath.Join(home, "daemon.sock")}); err != nil {
		return nil, err
	}
	b.kept, err = b.create(ctx)
	return b, err
}

func (b *coop) command(args ...string) *exec.Cmd {
	cmd := exec.Command(b.bin, append([]string{"-q"}, args...)...)
	cmd.Env, cmd.Dir = b.env, b.project
	return cmd
}

func (b *coop) create(ctx context.Context) (string, error) {
	sb, err := b.c.Create(ctx, api.CreateRequest{ScopePath: b.project})
	if err != nil {
		return "", err
	}
	return sb.ID, nil
}

func (b *coop) exec(ctx context.Context, id string) error {
	r, err := b.c.Exec(ctx, id, api.ExecRequest{Command: "/usr/bin/true", Args: &[]string{}})
	if err == nil && r.ExitCode != 0 {
		err = fmt.Errorf("true: exit status %d", r.ExitCode)
	}
	return err
}

// sample takes one of each.
func (b *coop) sample(ctx context.Context, t *table) error {
	begin := time.Now()
	id, err := b.create(ctx)
	if err != nil {
		return err
	}
	t.add(coopCreate, time.Since(begin))
	if err := b.exec(ctx, id); err != nil {
		return err
	}
	t.add(coopFirst, time.Since(begin))
	mark := time.Now()
	if err := b.c.Delete(ctx, id); err != nil {
		return err
	}
	t.add(coopDelete, time.Since(mark))
	t.add(coopCycle, time.Since(begin))
	return errors.Join(
		t.time(coopExec, func() error { return b.exec(ctx, b.kept) }),
		t.time(coopHTTP, func() error { _, err := b.c.Version(ctx); return err }),
		t.time(coopRun, func() error { return b.command("run", "--rm", "--", "true").Run() }),
	)
}

func (b *coop) stop() {
	_ = b.command("rm", "-f", "--all").Run() // the temporary home goes anyway
	_ = b.command("shutdown").Run()
}

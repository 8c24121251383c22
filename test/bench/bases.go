package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/linux/diskuse"
	"github.com/coop-dev/coop/test/rootfs"
)

// What bases promise.
const (
	unchangedMost = 200 * time.Millisecond
	crowd         = 100
	// eachMost is what a sandbox may take on disk before anything is written in
	// it: its directories, its identity and its logs.
	eachMost = 256 << 10
)

// runBases measures a rebuild with nothing to do, and what a crowd of sandboxes
// of one base takes on disk.
func runBases(ctx context.Context, bin string, n int) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "coop-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	box, err := startCoop(ctx, bin, dir)
	if err != nil {
		return err
	}
	defer box.stop()
	describe(bin, n)
	if err := box.prepareBase(dir); err != nil {
		return err
	}
	if err := box.rebuilds(ctx, n); err != nil {
		return err
	}
	if err := box.hundred(ctx, dir); err != nil {
		return err
	}
	// Of a user's layers some files belong to ids that only the daemon can remove.
	return errors.Join(box.command("rm", "-f", "--all").Run(), box.command("image", "prune", "-a").Run())
}

// prepareBase makes an image and a coop.toml with some steps.
func (b *coop) prepareBase(dir string) error {
	file := filepath.Join(dir, "image.tar")
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	err = errors.Join(rootfs.Write(f, rootfs.Tools(), nil), f.Close())
	if err != nil {
		return err
	}
	text := "[base]\nimage = \"tar:" + file + "\"\n[setup]\nrun = [\"head -c 20000000 /dev/urandom >/large\", \"mkdir /made\", \"ls -R /bin >/made/list\"]\n"
	return os.WriteFile(filepath.Join(b.project, "coop.toml"), []byte(text), 0o644)
}

// rebuilds times coop rebuild, the whole command: once with everything to do and
// then with nothing.
func (b *coop) rebuilds(ctx context.Context, n int) error {
	t := newTable()
	run := func() error { return b.command("rebuild").Run() }
	begin := time.Now()
	if err := run(); err != nil {
		return fmt.Errorf("coop rebuild: %w", err)
	}
	first := time.Since(begin)
	const row = "coop rebuild, nothing changed, the whole command"
	for range n {
		if err := t.time(row, run); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	took := slices.Sorted(slices.Values(t.rows[row]))
	p50, p95 := took[len(took)/2], took[len(took)*95/100]
	fmt.Printf("coop rebuild: %v with everything to do; with nothing p50 %v, p95 %v\n", first.Round(time.Millisecond), p50.Round(100*time.Microsecond), p95.Round(100*time.Microsecond))
	fmt.Printf("promise: a rebuild with nothing changed < %v: %s\n", unchangedMost, held(p50 < unchangedMost))
	return nil
}

// crowd makes many sandboxes of the base and looks at the disk.
func (b *coop) hundred(ctx context.Context, dir string) error {
	home := filepath.Join(dir, "home")
	base, err := b.c.Images(ctx)
	if err != nil {
		return err
	}
	layers := func() (int64, error) { return diskuse.Tree(ctx, filepath.Join(home, "layers")) }
	before, err := layers()
	if err != nil {
		return err
	}
	var ids []string
	for range crowd {
		sb, err := b.c.Create(ctx, api.CreateRequest{Image: base.Items[0].Digest})
		if err != nil {
			return err
		}
		ids = append(ids, sb.ID)
	}
	var own int64
	for _, id := range ids {
		n, err := diskuse.Tree(ctx, filepath.Join(home, "sandboxes", id))
		if err != nil {
			return err
		}
		own += n
	}
	after, err := layers()
	if err != nil {
		return err
	}
	fmt.Printf("%d sandboxes of one base of %d MiB: %d KiB each, layers grew by %d bytes\n", crowd, base.Items[0].DiskBytes>>20, own/crowd>>10, after-before)
	fmt.Printf("promise: sandboxes share their image's disk (≤ %d KiB each, layers unchanged): %s\n", eachMost>>10, held(after == before && own/crowd <= eachMost))
	return nil
}

func held(ok bool) string {
	if ok {
		return "holds"
	}
	return "BROKEN"
}

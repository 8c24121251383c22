package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/linux/diskuse"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/idshift"
	"github.com/coop-dev/coop/internal/linux/layerdir"
	"github.com/coop-dev/coop/internal/linux/rmtree"
	"github.com/coop-dev/coop/internal/sandbox"
)

// harvest makes a layer of what a stopped sandbox has written. An upper layer is
// a layer already, whiteouts and all (containers' snapshots are made so); what
// remains is to take out what is the sandbox's own, and for real root to give
// the files the ids they have inside.
func (e *Engine) harvest(ctx context.Context, r sandbox.Record, layer string, about image.Built) (release func(), err error) {
	scratch, err := e.Images.Scratch()
	if err != nil {
		return nil, diskError(err)
	}
	defer rmtree.Remove(scratch) //nolint:errcheck // at worst the next start removes it
	dir := filepath.Join(scratch, "layer")
	if err := os.Rename(filepath.Join(e.dir(r.ID), "upper"), dir); err != nil {
		return nil, err
	}
	root := filepath.Join(dir, "root")
	if err := leaveOut(root, r.Spec.Workspace.Path); err != nil {
		return nil, err
	}
	if !r.Spec.ImageConfig.OverHost {
		dir = root // over the host's system a layer has all its trees
	}
	if e.root {
		if err := idshift.Down(ctx, dir, r.IDBase, idmap.Range); err != nil {
			return nil, sandbox.Errorf(sandbox.Invalid, "what the step wrote cannot be kept: %w", err)
		}
	}
	bytes, err := diskuse.Tree(ctx, dir)
	if err != nil {
		return nil, err
	}
	return e.Images.AddBuilt(layer, about, dir, bytes)
}

// leaveOut removes what was made for one sandbox only. The tree is hostile: an
// /etc that is a link now must not lead anywhere.
func leaveOut(root, workspace string) error {
	t, err := layerdir.Open(root)
	if err != nil {
		return err
	}
	defer t.Close()
	for _, p := range []string{"etc/hostname", "etc/hosts", "etc/resolv.conf", workspace[1:]} {
		at, err := t.At(p)
		if err == nil {
			err = t.Remove(at)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, syscall.ELOOP) {
			return err
		}
	}
	return nil
}

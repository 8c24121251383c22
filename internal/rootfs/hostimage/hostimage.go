// Package hostimage prepares the image `host`: the host's own system under a
// copy-on-write layer, without the host's secrets. It owns cache/host in
// COOP_HOME and writes nowhere else.
//
// Three kinds of trees make up the image:
//
//	skeleton   the root directory with a private copy of /etc: only what every
//	           user of the host may read
//	shadow     one for each shared tree, laid over it. For an ordinary user it
//	           holds the directories, owned by the user: overlayfs cannot copy
//	           up a directory whose owner has no id inside, so without it not
//	           even a new file could be made in /usr. For real root it holds
//	           whiteouts for everything not world-readable, because root inside
//	           could read it through the idmapped mount.
//	shared     /usr, /opt (and /bin, /lib, … where they are not links), as they are
//
// Invariant: a prepared image is never modified, only replaced by one with
// another key; sandboxes go on using the one they were made with.
package hostimage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Image is one prepared state of the host.
type Image struct {
	Key      string
	Skeleton string
	Trees    []Tree
}

// Tree is one shared directory of the host and the layer over it.
type Tree struct {
	Path   string // /usr: where it is on the host and where it goes inside
	Shadow string
}

// Cache prepares images when the host has changed.
type Cache struct {
	dir  string
	root bool // real root: shadows hold whiteouts

	mu      sync.Mutex
	current *Image
	checked time.Time
}

// New keeps images in dir. root says that the daemon is real root.
func New(dir string, root bool) *Cache { return &Cache{dir: dir, root: root} }

// fresh is how long a look at the host is trusted: a host changes by hand or by
// its package manager, and every look costs some milliseconds.
const fresh = 10 * time.Second

// Get gives the image of the host as it is now.
func (c *Cache) Get(ctx context.Context) (*Image, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil && time.Since(c.checked) < fresh {
		return c.current, nil
	}
	key := c.key()
	if c.current == nil || c.current.Key != key {
		img, err := c.prepare(ctx, key)
		if err != nil {
			return nil, err
		}
		c.current = img
	}
	c.checked = time.Now()
	return c.current, nil
}

// prepare builds the image under a temporary name and renames it into place: a
// directory with the key's name is complete.
func (c *Cache) prepare(ctx context.Context, key string) (*Image, error) {
	dir := filepath.Join(c.dir, key)
	img := layout(dir, key)
	if _, err := os.Stat(dir); err == nil {
		return img, nil
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(c.dir, "new-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	if err := c.fill(ctx, layout(tmp, key)); err != nil {
		return nil, explain(err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return nil, err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return img, nil
}

// explain gives the refusal of whiteouts a way out: only an overlay, as the root
// of a container is, refuses them to real root.
func explain(err error) error {
	if errors.Is(err, syscall.EPERM) {
		return sandbox.Errorf(sandbox.Unavailable, "COOP_HOME is on an overlay or another filesystem that cannot hold layers: %w", err).
			WithHint("set COOP_HOME to a directory on ext4, xfs, btrfs or tmpfs; the root of a container is an overlay")
	}
	return err
}

func (c *Cache) fill(ctx context.Context, img *Image) error {
	if err := makeSkeleton(ctx, img.Skeleton); err != nil {
		return err
	}
	for _, t := range img.Trees {
		shade := directoriesOnly
		if c.root {
			shade = hideSecrets
		}
		if err := shade(ctx, t.Path, t.Shadow); err != nil {
			return err
		}
	}
	return nil
}

func layout(dir, key string) *Image {
	img := &Image{Key: key, Skeleton: filepath.Join(dir, "skeleton")}
	for _, p := range sharedTrees() {
		img.Trees = append(img.Trees, Tree{Path: p, Shadow: filepath.Join(dir, "shadow", p)})
	}
	return img
}

// sharedTrees is the allow-list: the parts of the host's system that hold
// programs. Nothing of /home, /root, /var, /run, /mnt, /srv is in it.
func sharedTrees() []string {
	var trees []string
	for _, p := range []string{"/usr", "/opt", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"} {
		st, err := os.Lstat(p)
		if err != nil || !st.IsDir() {
			continue // a link is part of the skeleton
		}
		if names, err := os.ReadDir(p); err == nil && len(names) > 0 {
			trees = append(trees, p)
		}
	}
	return trees
}

// Sweep removes images nobody uses: all but the host's present one and those
// that keep names.
func (c *Cache) Sweep(keep func(key string) bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	present := c.key()
	for _, e := range entries {
		if keep(e.Name()) || e.Name() == present {
			continue
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(c.dir, e.Name())))
	}
	return err
}

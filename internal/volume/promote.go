package volume

import (
	"context"
	"crypto/sha1" //nolint:gosec // names of npm's cache, not a fence
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coop-dev/coop/internal/linux/beneath"
	"github.com/coop-dev/coop/internal/linux/copyfile"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/rmtree"
)

// Promoted tells what became of a sandbox's part of a cache.
type Promoted struct {
	Generation int
	Added      int
	Bytes      int64
	Kept       int      // the cache has other content under that name already
	Refused    []string // what does not belong into a cache, at most maxRefused names
}

const maxRefused = 100

// Layer is a sandbox's part of a cache: Dir is its layer, at Base its ids begin
// (real root only).
type Layer struct {
	Dir  *os.File
	Base uint32
}

// Promote makes the next generation of a cache: the newest one and what a
// sandbox has added. What the cache has already stays unless replace: a sandbox
// must not be able to exchange a package that others were going to use. Links
// that lead out, devices, set-id bits and names that promise another content are
// left out.
func (c *Caches) Promote(ctx context.Context, path string, l Layer, replace bool) (Promoted, error) {
	c.promoting.Lock()
	defer c.promoting.Unlock()
	n, err := c.newest(path) // only a promote makes another
	if err != nil {
		return Promoted{}, err
	}
	stage := filepath.Join(c.Path(path), ".new")
	if err := rmtree.Remove(stage); err != nil { // of one that was killed
		return Promoted{}, err
	}
	p := &promoter{ctx: ctx, layer: l, stage: stage, root: c.Root, replace: replace, out: Promoted{Generation: n + 1}}
	if err := p.run(c.generation(path, n), n > 0); err != nil {
		_ = rmtree.Remove(stage) // the first error is the one to tell
		_ = os.Remove(stage + ".file")
		return Promoted{}, err
	}
	if p.out.Added == 0 { // nothing new: no reason for another generation
		p.out.Generation = n
		return p.out, rmtree.Remove(stage)
	}
	return p.out, os.Rename(stage, c.generation(path, n+1))
}

type promoter struct {
	ctx     context.Context
	layer   Layer
	stage   string
	root    bool
	replace bool
	out     Promoted
}

func (p *promoter) run(old string, exists bool) error {
	top, err := beneath.Opened(p.layer.Dir)
	if err != nil {
		return err
	}
	if err := p.makeDir(p.stage, top); err != nil {
		return err
	}
	if exists {
		if err := p.link(old); err != nil {
			return err
		}
	}
	if err := p.dir(""); err != nil {
		return err
	}
	dir, err := os.Open(p.stage)
	if err != nil {
		return err
	}
	defer dir.Close()
	return copyfile.SyncTree(dir)
}

// link takes the old generation over by hard links: files of a generation never
// change, and both are ours alone.
func (p *promoter) link(old string) error {
	return filepath.WalkDir(old, func(from string, d fs.DirEntry, err error) error {
		if err != nil || p.ctx.Err() != nil {
			return errors.Join(err, context.Cause(p.ctx))
		}
		to := filepath.Join(p.stage, strings.TrimPrefix(from, old))
		if !d.IsDir() {
			return os.Link(from, to)
		}
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := beneath.Opened(f)
		if err != nil {
			return err
		}
		if to != p.stage {
			if err := os.Mkdir(to, 0o755); err != nil {
				return err
			}
		}
		return p.set(to, info.Mode.Perm()|0o700, int(info.UID), int(info.GID))
	})
}

// dir goes through the sandbox's layer. A sandbox may be writing to it: paths are
// resolved beneath it and every file is looked at when it is open.
func (p *promoter) dir(rel string) error {
	if p.ctx.Err() != nil {
		return context.Cause(p.ctx)
	}
	d, err := beneath.Dir(p.layer.Dir, rel)
	if err != nil {
		return p.refuse(rel)
	}
	defer d.Close()
	names, err := beneath.Names(d, maxNames)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		info, err := beneath.Entry(d, name)
		if err != nil {
			continue // gone since it was listed
		}
		if err := p.entry(d, path.Join(rel, name), name, info); err != nil {
			return err
		}
	}
	return nil
}

func (p *promoter) entry(d *os.File, rel, name string, info beneath.Info) error {
	to := filepath.Join(p.stage, rel)
	have, herr := os.Lstat(to)
	switch m := info.Mode; {
	case m.IsDir():
		if herr == nil && !have.IsDir() {
			p.out.Kept++
			return nil
		}
		if herr != nil {
			if err := p.makeDir(to, info); err != nil {
				return err
			}
		}
		return p.dir(rel)
	case info.Whiteout():
		return nil // what one sandbox has removed others may want
	case m&fs.ModeSymlink != 0:
		return p.symlink(d, rel, name, to, herr == nil)
	case !m.IsRegular():
		return p.refuse(rel)
	case herr == nil && (have.IsDir() || !p.replace):
		p.out.Kept++
		return nil
	}
	return p.file(rel, to, herr == nil)
}

// symlink takes a link over that stays inside the cache.
func (p *promoter) symlink(d *os.File, rel, name, to string, exists bool) error {
	target, err := beneath.Link(d, name)
	if err != nil {
		return nil //nolint:nilerr // gone meanwhile
	}
	if leadsOut(path.Dir(rel), target) {
		return p.refuse(rel)
	}
	if exists {
		p.out.Kept++
		return nil
	}
	if err := os.Symlink(target, to); err != nil {
		return err
	}
	p.out.Added++
	if !p.root {
		return nil
	}
	return os.Lchown(to, int(idmap.Volumes), int(idmap.Volumes))
}

// leadsOut reports whether a link in dir, at any step, leaves the cache.
func leadsOut(dir, target string) bool {
	if path.IsAbs(target) {
		return true
	}
	depth := 0
	for _, name := range strings.Split(path.Clean(dir), "/") {
		if name != "." {
			depth++
		}
	}
	for _, name := range strings.Split(target, "/") {
		switch name {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return true
			}
		default:
			depth++
		}
	}
	return false
}

func (p *promoter) file(rel, to string, exists bool) error {
	src, info, err := beneath.File(p.layer.Dir, rel)
	if err != nil {
		return p.refuse(rel) // swapped for something else
	}
	defer src.Close()
	stage := p.stage + ".file" // beside it: the name cannot be one of the cache's
	dst, err := os.OpenFile(stage, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = copyfile.Copy(p.ctx, dst, src, info.Size)
	fits := err == nil && contentFits(rel, dst)
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || (err == nil && !fits) {
		_ = os.Remove(stage)
		return p.refuse(rel)
	}
	if err != nil {
		return err
	}
	uid, gid := p.owner(info)
	if err := p.set(stage, info.Mode.Perm(), uid, gid); err != nil {
		return err
	}
	if err := copyfile.SetTime(stage, info.MTime); err != nil {
		return err
	}
	if exists { // a hard link to the old generation's: only the name goes
		if err := os.Remove(to); err != nil {
			return err
		}
	}
	p.out.Added++
	p.out.Bytes += info.Size
	return os.Rename(stage, to)
}

func (p *promoter) makeDir(to string, info beneath.Info) error {
	if err := os.Mkdir(to, 0o755); err != nil {
		return err
	}
	uid, gid := p.owner(info)
	return p.set(to, info.Mode.Perm()|0o700, uid, gid)
}

// owner is whom a file of the layer belongs to in the shared cache.
func (p *promoter) owner(info beneath.Info) (uid, gid int) {
	return imageOwner(p.root, p.layer.Base)(info.UID, info.GID)
}

// set gives owner and permissions; set-id and sticky bits are none.
func (p *promoter) set(to string, perm fs.FileMode, uid, gid int) error {
	if err := os.Lchown(to, uid, gid); err != nil {
		return err
	}
	return os.Chmod(to, perm)
}

func (p *promoter) refuse(rel string) error {
	if len(p.out.Refused) < maxRefused {
		p.out.Refused = append(p.out.Refused, rel)
	}
	return nil
}

// contentFits checks files whose name is the hash of their content, as npm has
// them: content-v2/sha512/ab/cd/ef…. Any other name promises nothing.
func contentFits(rel string, f *os.File) bool {
	parts := strings.Split(rel, "/")
	i := slices.Index(parts, "content-v2")
	if i < 0 || len(parts) != i+5 {
		return true
	}
	var sum hash.Hash
	switch parts[i+1] {
	case "sha512":
		sum = sha512.New()
	case "sha256":
		sum = sha256.New()
	case "sha1":
		sum = sha1.New() //nolint:gosec // as above
	default:
		return true
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false
	}
	if _, err := io.Copy(sum, f); err != nil {
		return false
	}
	return hex.EncodeToString(sum.Sum(nil)) == strings.Join(parts[i+2:], "")
}

package changes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"os"
	"path"
	"slices"
)

// What looking for renames may cost.
const (
	renameFileBytes  = 64 << 20  // a larger file is not compared with others
	renameTotalBytes = 512 << 20 // read while looking for equal files
)

// pairing looks for added files that are deleted ones under another name, in
// three passes: those the layer itself says were moved, equal content, similar
// content.
type pairing struct {
	w          *walker
	gone, made []*Change // candidates, sorted by path; nil once paired
	left       int64
}

// pairRenames replaces pairs of a deletion and an addition by one rename.
func (w *walker) pairRenames() error {
	p := &pairing{w: w, left: renameTotalBytes}
	for i := range w.out {
		c := &w.out[i]
		if !c.Pending() {
			continue
		}
		switch {
		case c.Kind == Deleted && renamable(c.Old):
			p.gone = append(p.gone, c)
		case c.Kind == Added && renamable(c.New):
			p.made = append(p.made, c)
		}
	}
	if len(p.gone) == 0 || len(p.made) == 0 {
		return nil
	}
	byPath := func(a, b *Change) int { return cmp.Compare(a.Path, b.Path) }
	slices.SortFunc(p.gone, byPath)
	slices.SortFunc(p.made, byPath)
	p.moved()
	if err := p.equal(); err != nil {
		return err
	}
	if err := p.similar(); err != nil {
		return err
	}
	w.out = slices.DeleteFunc(w.out, func(c Change) bool { return c.Kind == "" })
	return nil
}

// renamable: an empty file is like every other.
func renamable(s State) bool {
	return (s.Mode.IsRegular() && s.Size > 0) || s.Mode.Type() == os.ModeSymlink
}

// pair makes one rename; the deletion is marked to be dropped.
func (p *pairing) pair(gone, made *Change, similarity int) {
	made.Kind, made.OldPath, made.Old, made.Similarity = Renamed, gone.Path, gone.Old, similarity
	gone.Kind = ""
}

func (p *pairing) drop() {
	p.gone = slices.DeleteFunc(p.gone, func(c *Change) bool { return c.Kind != Deleted })
	p.made = slices.DeleteFunc(p.made, func(c *Change) bool { return c.Kind != Added })
}

// moved pairs the files of renamed directories.
func (p *pairing) moved() {
	at := map[string]*Change{}
	for _, c := range p.gone {
		at[c.Path] = c
	}
	for _, c := range p.made {
		if g := at[c.from]; g != nil && g.Kind == Deleted {
			p.pair(g, c, 100)
		}
	}
	p.drop()
}

// sameSize is what two files must share before they are read.
type sameSize struct {
	link bool
	size int64
}

func sizeOf(s State) sameSize { return sameSize{s.Mode.Type() == os.ModeSymlink, s.Size} }

// content names what is in a file or a link.
type content struct {
	sameSize
	sum [sha256.Size]byte
}

// equal pairs files with the same content, those of the same name first. Only
// files whose size is found on both sides are read.
func (p *pairing) equal() error {
	sizes := map[sameSize]bool{}
	for _, c := range p.made {
		sizes[sizeOf(c.New)] = true
	}
	gone, err := p.sums(p.gone, sizes, func(c *Change) State { return c.Old }, p.w.OpenOld)
	if err != nil {
		return err
	}
	clear(sizes)
	for sum := range gone {
		sizes[sum.sameSize] = true
	}
	made, err := p.sums(p.made, sizes, func(c *Change) State { return c.New }, p.w.OpenNew)
	if err != nil {
		return err
	}
	for sum, list := range made {
		p.match(gone[sum], list)
	}
	p.drop()
	return nil
}

// sums groups files of these sizes by their content.
func (p *pairing) sums(list []*Change, sizes map[sameSize]bool, side func(*Change) State, open func(Change) (*os.File, error)) (map[content][]*Change, error) {
	out := map[content][]*Change{}
	for _, c := range list {
		if !sizes[sizeOf(side(c))] {
			continue
		}
		sum, ok, err := p.sum(c, side(c), open)
		if err != nil {
			return nil, err
		}
		if ok {
			out[sum] = append(out[sum], c)
		}
	}
	return out, nil
}

// match pairs files of one content. Both lists are in the order of their paths.
func (p *pairing) match(gone, made []*Change) {
	named := map[string][]*Change{}
	for _, g := range gone {
		named[path.Base(g.Path)] = append(named[path.Base(g.Path)], g)
	}
	for _, m := range made {
		if list := named[path.Base(m.Path)]; len(list) > 0 {
			p.pair(list[0], m, 100)
			named[path.Base(m.Path)] = list[1:]
		}
	}
	next := 0
	for _, m := range made {
		for next < len(gone) && gone[next].Kind != Deleted {
			next++
		}
		if m.Kind == Added && next < len(gone) {
			p.pair(gone[next], m, 100)
		}
	}
}

// sum reads one side; ok is false for what is too large, beyond what may be read
// in all, or cannot be read.
func (p *pairing) sum(c *Change, s State, open func(Change) (*os.File, error)) (out content, ok bool, err error) {
	if p.w.ctx.Err() != nil {
		return out, false, context.Cause(p.w.ctx)
	}
	out.sameSize = sizeOf(s)
	if out.link {
		out.sum = sha256.Sum256([]byte(s.Link))
		return out, true, nil
	}
	if s.Size > renameFileBytes || s.Size > p.left {
		return out, false, nil
	}
	p.left -= s.Size
	f, err := open(*c)
	if err != nil {
		return out, false, nil
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, s.Size)); err != nil {
		return out, false, nil
	}
	h.Sum(out.sum[:0])
	return out, true, nil
}

package changes

import (
	"cmp"
	"context"
	"io"
	"path"
	"slices"
)

// What comparing every added file with every deleted one may cost. Beyond it
// they are listed as what they are: added and deleted.
const (
	similarMin    = 50        // percent, git's default
	similarBytes  = 1 << 20   // of one file
	similarPairs  = 1_000_000 // git's default limit: 1000 × 1000
	similarPieces = 4_000_000 // of all files together, 16 bytes each
	similarSteps  = 50_000_000
)

// piece is a line, or 64 bytes of a longer one, and how many bytes of the file
// are such pieces.
type piece struct{ hash, bytes uint64 }

// sketch is what a file consists of, sorted by hash.
type sketch struct {
	c      *Change
	size   int64
	pieces []piece
}

// score is one possible pair.
type score struct {
	gone, made *Change
	percent    int
	named      bool
}

func (p *pairing) similar() error {
	if len(p.gone)*len(p.made) > similarPairs {
		return nil
	}
	room := similarPieces
	gone, err := p.sketches(p.gone, func(c *Change) State { return c.Old }, false, &room)
	if err != nil || len(gone) == 0 {
		return err
	}
	made, err := p.sketches(p.made, func(c *Change) State { return c.New }, true, &room)
	if err != nil || room <= 0 {
		return err
	}
	scores, err := p.scores(gone, made)
	if err != nil {
		return err
	}
	slices.SortFunc(scores, func(a, b score) int {
		return cmp.Or(b.percent-a.percent, -compareBool(a.named, b.named), cmp.Compare(a.made.Path, b.made.Path), cmp.Compare(a.gone.Path, b.gone.Path))
	})
	for _, s := range scores {
		if s.gone.Kind == Deleted && s.made.Kind == Added {
			p.pair(s.gone, s.made, s.percent)
		}
	}
	p.drop()
	return nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func (p *pairing) scores(gone, made []sketch) ([]score, error) {
	var out []score
	steps := similarSteps
	for _, m := range made {
		if p.w.ctx.Err() != nil {
			return nil, context.Cause(p.w.ctx)
		}
		for _, g := range gone {
			if 100*min(m.size, g.size)/max(m.size, g.size) < similarMin {
				continue
			}
			if steps -= len(m.pieces) + len(g.pieces); steps < 0 {
				return nil, nil
			}
			if n := similarity(g, m); n >= similarMin {
				out = append(out, score{g.c, m.c, n, path.Base(g.c.Path) == path.Base(m.c.Path)})
			}
		}
	}
	return out, nil
}

// similarity is the share of the larger file that both have; 100 is left to
// files that are equal.
func similarity(a, b sketch) int {
	var shared uint64
	for i, j := 0, 0; i < len(a.pieces) && j < len(b.pieces); {
		x, y := a.pieces[i], b.pieces[j]
		switch {
		case x.hash < y.hash:
			i++
		case x.hash > y.hash:
			j++
		default:
			shared += min(x.bytes, y.bytes)
			i, j = i+1, j+1
		}
	}
	return min(99, int(100*shared/uint64(max(a.size, b.size))))
}

func (p *pairing) sketches(list []*Change, side func(*Change) State, new bool, room *int) ([]sketch, error) {
	var out []sketch
	for _, c := range list {
		if p.w.ctx.Err() != nil {
			return nil, context.Cause(p.w.ctx)
		}
		s := side(c)
		if !s.Mode.IsRegular() || s.Size > similarBytes || *room <= 0 {
			continue
		}
		open := p.w.OpenOld
		if new {
			open = p.w.OpenNew
		}
		f, err := open(*c)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(f, similarBytes))
		f.Close()
		if err != nil || len(text) == 0 {
			continue
		}
		k := sketch{c: c, size: int64(len(text)), pieces: cut(text)}
		*room -= len(k.pieces)
		out = append(out, k)
	}
	return out, nil
}

// cut takes a text apart as git does. The hash is FNV-1a: whoever makes it
// collide gets a wrong percentage shown.
func cut(text []byte) []piece {
	const offset, prime, longest = 14695981039346656037, 1099511628211, 64
	var all []piece
	h, n := uint64(offset), uint64(0)
	for i, c := range text {
		h, n = (h^uint64(c))*prime, n+1
		if c == '\n' || n == longest || i == len(text)-1 {
			all = append(all, piece{h, n})
			h, n = offset, 0
		}
	}
	slices.SortFunc(all, func(a, b piece) int { return cmp.Compare(a.hash, b.hash) })
	out := all[:0]
	for _, p := range all {
		if n := len(out); n > 0 && out[n-1].hash == p.hash {
			out[n-1].bytes += p.bytes
			continue
		}
		out = append(out, p)
	}
	return out
}

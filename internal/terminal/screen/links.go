package screen

import "strings"

// linkTable holds the hyperlinks in use. Cells have an index, 0 for none.
type linkTable struct {
	byIndex []link // from index 1
	index   map[link]uint16
	bytes   int
	refused int  // links to refuse before the next sweep
	used    bool // there were links: a viewer's terminal may be in one
}

type link struct{ id, uri string }

const (
	maxURI       = 2048
	maxLinks     = 1024
	maxLinkBytes = 256 << 10
	// A table full of live links is not swept for every new one.
	sweepEvery = 256
)

func (s *Screen) setLink(params, uri string) {
	s.pen.link, s.links.used = 0, true
	if !safeURI(uri) {
		return
	}
	l := link{linkID(params), uri}
	if i, ok := s.links.index[l]; ok {
		s.pen.link = i
		return
	}
	if s.links.full() {
		s.sweepLinks()
	}
	s.pen.link = s.links.add(l)
}

// safeURI: only the web, spelt in printable ASCII. A click on a file: or an
// application's own scheme would act on the user's machine.
func safeURI(uri string) bool {
	rest, ok := strings.CutPrefix(uri, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(uri, "http://")
	}
	if !ok || rest == "" || len(uri) > maxURI {
		return false
	}
	return !strings.ContainsFunc(uri, func(r rune) bool { return r <= 0x20 || r >= del })
}

// linkID is the id parameter, which ties the parts of a wrapped link together.
func linkID(params string) string {
	for p := range strings.SplitSeq(params, ":") {
		if id, ok := strings.CutPrefix(p, "id="); ok && len(id) <= 64 && !strings.ContainsFunc(id, notIDRune) {
			return id
		}
	}
	return ""
}

func notIDRune(r rune) bool { return r <= 0x20 || r >= del || r == ';' }

func (t *linkTable) full() bool {
	return len(t.byIndex) >= maxLinks || t.bytes > maxLinkBytes-maxURI
}

// add returns the index, 0 if there is no room: the text stays, without a link.
func (t *linkTable) add(l link) uint16 {
	if t.full() {
		return 0
	}
	if t.index == nil {
		t.index = map[link]uint16{}
	}
	t.byIndex = append(t.byIndex, l)
	t.bytes += len(l.id) + len(l.uri)
	t.index[l] = uint16(len(t.byIndex))
	return uint16(len(t.byIndex))
}

// linkOf is the link of a style.
func (s *Screen) linkOf(t style) link {
	if t.link == 0 {
		return link{}
	}
	return s.links.byIndex[t.link-1]
}

// sweepLinks drops the links that nothing on the screens has any more.
func (s *Screen) sweepLinks() {
	if s.links.refused > 0 {
		s.links.refused--
		return
	}
	old := s.links
	s.links = linkTable{used: true}
	keep := func(t *style) {
		if t.link == 0 {
			return
		}
		l := old.byIndex[t.link-1]
		i, ok := s.links.index[l]
		if !ok {
			i = s.links.add(l)
		}
		t.link = i
	}
	for i := range s.grids {
		for j := range s.grids[i].cells {
			keep(&s.grids[i].cells[j].style)
		}
		keep(&s.saved[i].pen)
	}
	keep(&s.pen)
	if len(s.links.byIndex) > len(old.byIndex)*3/4 {
		s.links.refused = sweepEvery
	}
}

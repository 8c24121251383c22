package image

import (
	"fmt"
	"slices"

	"github.com/coop-dev/coop/internal/image/unpack"
)

// notes tell what of a layer could not be kept.
func notes(r unpack.Result) []string {
	var list []string
	add := func(n int, what string) {
		if n > 0 {
			list = append(list, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(r.Devices, "device nodes left out: a sandbox has its own /dev")
	add(r.Nobody, "entries with owners above 65535 now belong to nobody")
	add(r.Attrs, "extended attributes that this file system or user cannot keep")
	return list
}

// gatherNotes puts those of all layers together.
func (s *Store) gatherNotes(layers []Layer) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, l := range layers {
		have := s.layers[hexOf(l.DiffID)]
		if have == nil {
			continue
		}
		for _, n := range have.Notes {
			if n = fmt.Sprintf("layer %.12s: %s", hexOf(l.DiffID), n); !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
	}
	return list
}

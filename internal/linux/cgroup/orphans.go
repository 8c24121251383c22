package cgroup

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
)

// Orphans lists the groups beneath p whose id is not known, to be reopened, killed and
// removed. Groups that a daemon made from elsewhere are not seen: those are found by
// their stored [State].
func (p *Parent) Orphans(known func(id string) bool) ([]State, error) {
	found := map[string]State{}
	if p.anchor == nil {
		return nil, nil
	}
	dirs := maps.Clone(p.v1)
	dirs[""] = p.anchor
	for controller, dir := range dirs {
		names, err := children(dir)
		if err != nil {
			return nil, fmt.Errorf("list groups of %s: %w", p.name, err)
		}
		for _, id := range names {
			if known(id) {
				continue
			}
			if _, ok := found[id]; !ok {
				found[id] = State{ID: id, Unified: p.v2, Anchor: filepath.Join(p.anchor.Name(), id), V1: map[string]string{}}
			}
			if controller != "" {
				found[id].V1[controller] = filepath.Join(dir.Name(), id)
			}
		}
	}
	return inOrder(found), nil
}

func inOrder(found map[string]State) []State {
	var states []State
	for _, id := range slices.Sorted(maps.Keys(found)) {
		states = append(states, found[id])
	}
	return states
}

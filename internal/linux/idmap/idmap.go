// Package idmap works out which user and group ids a sandbox has. It only
// computes and reads; writing maps is done by whoever clones.
//
// Three situations, told apart by Self:
//
//	root        the daemon is real root: each sandbox gets 65536 high ids
//	user        the daemon lives in a user namespace with many ids (newuidmap)
//	single-id   … with the user's own id only
package idmap

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Line maps Count ids beginning with Inside to those beginning with Outside.
type Line struct{ Inside, Outside, Count uint32 }

// Map is a whole mapping, as in /proc/PID/uid_map.
type Map []Line

// Range is how many ids a sandbox of real root gets, and First where they
// begin: above what distributions, subordinate ids and systemd hand out.
const (
	Range    uint32 = 65536
	First    uint32 = 0x70000000
	maxSlots uint32 = 0x0fff
)

// Self reads the maps of this process.
func Self() (uids, gids Map, err error) {
	if uids, err = read("/proc/self/uid_map"); err != nil {
		return nil, nil, err
	}
	gids, err = read("/proc/self/gid_map")
	return uids, gids, err
}

func read(file string) (Map, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(string(b))
}

// Parse reads the format of uid_map.
func Parse(s string) (Map, error) {
	var m Map
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		var l Line
		if _, err := fmt.Sscan(line, &l.Inside, &l.Outside, &l.Count); err != nil {
			return nil, fmt.Errorf("id map line %q: %w", line, err)
		}
		m = append(m, l)
	}
	return m, nil
}

// Initial reports whether m is the map of the host's own user namespace.
func (m Map) Initial() bool {
	return len(m) == 1 && m[0] == Line{0, 0, 1<<32 - 1}
}

// Host is what an id of this map is called outside; one that is not mapped keeps
// its number.
func (m Map) Host(id uint32) uint32 {
	for _, l := range m {
		if id >= l.Inside && id-l.Inside < l.Count {
			return l.Outside + id - l.Inside
		}
	}
	return id
}

// Inside is the other way round: what an id of the host is called here.
func (m Map) Inside(id uint32) uint32 {
	for _, l := range m {
		if id >= l.Outside && id-l.Outside < l.Count {
			return l.Inside + id - l.Outside
		}
	}
	return id
}

// Single reports whether only one id is mapped.
func (m Map) Single() bool { return len(m) == 1 && m[0].Count == 1 }

// Identity maps everything m has to itself: for a child user namespace that
// shall have the same ids.
func (m Map) Identity() Map {
	out := make(Map, len(m))
	for i, l := range m {
		out[i] = Line{l.Inside, l.Inside, l.Count}
	}
	return out
}

// Based is the map of a sandbox of real root: its ids 0 to 65535 are base and up.
func Based(base uint32) Map { return Map{{0, base, Range}} }

// FreeBase picks a range no live sandbox holds.
func FreeBase(taken []uint32) (uint32, error) {
	used := make(map[uint32]bool, len(taken))
	for _, b := range taken {
		used[b] = true
	}
	for slot := range maxSlots {
		if base := First + slot*Range; !used[base] {
			return base, nil
		}
	}
	return 0, fmt.Errorf("all %d id ranges are taken", maxSlots)
}

// Owned maps one id on disk to an id of a sandbox at base: what owner owns
// belongs to inside, and nothing else has an id there. Files of others in a
// workspace are therefore no more accessible than to any stranger, and none of
// theirs can be made: root inside could otherwise read what is private to them
// and, in a bind workspace, plant programs that run as them.
func Owned(owner, inside, base uint32) Map { return Map{{owner, base + inside, 1}} }

// Sys gives the form os/exec and syscall take.
func (m Map) Sys() []syscall.SysProcIDMap {
	out := make([]syscall.SysProcIDMap, len(m))
	for i, l := range m {
		out[i] = syscall.SysProcIDMap{ContainerID: int(l.Inside), HostID: int(l.Outside), Size: int(l.Count)}
	}
	return out
}

// Volumes is where the ids of files begin that outlive sandboxes of real root:
// the last range, which no sandbox gets. On disk such a file belongs to nobody of
// the host and to no sandbox; each sees it through a mount that shifts the range
// to its own.
const Volumes = First + maxSlots*Range

// Shifted maps the whole range of Volumes to that of a sandbox at base.
func Shifted(base uint32) Map { return Map{{Volumes, base, Range}} }

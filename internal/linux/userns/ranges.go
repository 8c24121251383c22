// Package userns takes the daemon of an ordinary user into a user and mount
// namespace of its own, where it is uid 0 and may mount, map ids and clone
// sandboxes. The namespace is disposable: the next daemon makes a new one with
// the same map.
package userns

import (
	"bufio"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/coop-dev/coop/internal/linux/idmap"
)

// rangeSize is how many subordinate ids a sandbox can use.
const rangeSize = 65536

// Subordinate finds the caller's range in /etc/subuid or /etc/subgid.
func Subordinate(file string, uid int) (first, count uint32, ok bool) {
	f, err := os.Open(file)
	if err != nil {
		return 0, 0, false
	}
	defer f.Close()
	names := []string{strconv.Itoa(uid)}
	if u, err := user.LookupId(names[0]); err == nil {
		names = append(names, u.Username)
	}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if start, n, ok := parseRange(sc.Text(), names); ok {
			return start, min(n, rangeSize), true
		}
	}
	return 0, 0, false
}

// parseRange reads "name:first:count"; ranges of less than a thousand ids are
// not worth having.
func parseRange(line string, names []string) (first, count uint32, ok bool) {
	f := strings.Split(strings.TrimSpace(line), ":")
	if len(f) != 3 || (f[0] != names[0] && f[0] != names[len(names)-1]) {
		return 0, 0, false
	}
	start, err1 := strconv.ParseUint(f[1], 10, 32)
	n, err2 := strconv.ParseUint(f[2], 10, 32)
	return uint32(start), uint32(n), err1 == nil && err2 == nil && n >= 1000
}

// rangeMap is the user's own id as 0 and the range after it.
func rangeMap(own int, first, count uint32) idmap.Map {
	return idmap.Map{{Inside: 0, Outside: uint32(own), Count: 1}, {Inside: 1, Outside: first, Count: count}}
}

// Package caps holds capability sets and the calls that shrink them. It owns the
// list of what programs in a sandbox may have, and only ever takes away: nothing
// here raises a capability. All of it acts on the calling thread, which the
// caller must be locked to; it is small because PID 1 imports it.
package caps

import (
	"strings"

	"golang.org/x/sys/unix"
)

// Cap is a capability by its kernel number.
type Cap uint8

// Set is a bit mask of capabilities, bit n for number n, as in /proc/pid/status.
type Set uint64

// Programs is the published set of a sandbox's programs. It is docker's default
// without NET_RAW and MKNOD.
const Programs Set = 1<<unix.CAP_CHOWN |
	1<<unix.CAP_DAC_OVERRIDE |
	1<<unix.CAP_FSETID |
	1<<unix.CAP_FOWNER |
	1<<unix.CAP_SETGID |
	1<<unix.CAP_SETUID |
	1<<unix.CAP_SETFCAP |
	1<<unix.CAP_SETPCAP |
	1<<unix.CAP_NET_BIND_SERVICE |
	1<<unix.CAP_SYS_CHROOT |
	1<<unix.CAP_KILL |
	1<<unix.CAP_AUDIT_WRITE

// Of makes a set of single capabilities, e.g. Of(unix.CAP_SYS_ADMIN).
func Of(members ...Cap) Set {
	var s Set
	for _, c := range members {
		s |= 1 << c
	}
	return s
}

// Has reports whether c is in the set.
func (s Set) Has(c Cap) bool { return s>>c&1 == 1 }

// String is the list of names in the order of their numbers, "none" when empty.
func (s Set) String() string {
	var names []string
	for c := Cap(0); c < 64; c++ {
		if s.Has(c) {
			names = append(names, c.String())
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

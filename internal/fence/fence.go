// Package fence lets the escape tests take one fence away from a sandbox, to
// prove that it is that fence which stops an attack. A program built without
// the tag fencetest has no way to do it: Removable is a constant, and the
// compiler drops every branch behind it.
package fence

import "slices"

// Label is the label of a sandbox that names the fences it goes without,
// separated by commas. Only a binary built with the tag fencetest reads it.
const Label = "coop.test/without"

// The fences that are not system-call rules; those have the names of their calls.
const (
	Bounding   = "bounding"     // the capability bounding set of programs
	NoNewPrivs = "no_new_privs" // executing gains nothing
	Dumpable   = "dumpable"     // PID 1 cannot be traced or looked into
	Signals    = "signals"      // PID 1 has default signal actions
	Mask       = "mask"         // hidden and read-only parts of /proc and /sys
	CloseFDs   = "close-fds"    // no descriptor of PID 1 reaches a program
	MagicLinks = "magic-links"  // working directories through /proc links are refused
	PeerPID    = "peer-pid"     // init.sock talks to processes outside only
	Seccomp    = "seccomp"      // the whole system-call filter
)

// Gone reports whether a fence was taken away.
func Gone(without []string, name string) bool {
	return Removable && slices.Contains(without, name)
}

// Structural reports whether a name is one of this package's, not a system call.
func Structural(name string) bool {
	return slices.Contains([]string{Bounding, NoNewPrivs, Dumpable, Signals, Mask, CloseFDs, MagicLinks, PeerPID, Seccomp}, name)
}

// Package cgroup owns the control group of one sandbox: it is made before the
// sandbox's first process, limits and counts what runs in it, kills all of it at
// once, and is removed after the last process is gone.
//
// Three kinds of host are told apart by reading /proc/self/cgroup and
// /proc/self/mountinfo, never by assuming a path:
//
//	unified  cgroup2 alone; limits need controllers handed down to the group
//	hybrid   cgroup2 for membership, kill and freeze; limits in v1 hierarchies
//	v1       no cgroup2; the v1 freezer takes its place
//	none     no group can be made, and [Host.Reason] says why
//
// One directory, the anchor, holds every process of the sandbox: cgroup2 where it
// exists, else the v1 freezer. A v1 group exists beside it only for a controller
// whose limit is set, because each costs a directory.
//
// The package refuses to move a process other than the caller, to change a group it
// did not make (but for handing controllers down from the caller's own), and to
// ignore a limit: a limit that cannot be enforced fails [Parent.Create], and
// [Parent.Missing] says so beforehand.
//
// Invariant: after [Group.Remove] returned nil no directory of the group is left.
package cgroup

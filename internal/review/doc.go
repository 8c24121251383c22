// Package review decides about changes and brings the approved ones into the
// project. It owns everything that ever writes to a project: nobody else does.
//
// It refuses to follow anything a sandbox made: links are applied as links,
// content is read once into a copy of its own before it is looked at, and every
// path is opened beneath the project without following a link. Devices, fifos,
// sockets, setuid bits, file capabilities and overlay attributes never arrive.
//
// Invariant: a request is applied completely or not at all, whatever ends it.
// A journal outside of the project says what was begun (see journal.go); until
// it is forgotten, recovery makes the project what it was or finishes.
package review

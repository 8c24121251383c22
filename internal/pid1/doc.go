// Package pid1 is coop-init: the first process of a sandbox. It builds the
// sandbox from the inside in the order the kernel wants it, locks itself down,
// and then serves one daemon after the other: start a program, signal it, kill
// its whole tree, open a file, attach a mount, list processes.
//
// It imports internal/linux, internal/initproto, x/sys/unix and the standard
// library without package net, so that the binary stays small enough to start
// in a millisecond. It decides nothing: what it does was decided by the daemon.
//
// Invariants. Programs never get PID 1's capabilities: they are started by one
// locked thread that has given them up. No descriptor but 0, 1 and 2 reaches a
// program. One goroutine reaps, and it holds the same lock as whoever starts a
// program, so no exit status is lost or given to the wrong program.
package pid1

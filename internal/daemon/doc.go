// Package daemon is the daemon of one user: it takes its place (a lock, a user
// and mount namespace, a socket), wires store, engine and server together, and
// leaves when nothing runs any more. Nothing else in the program knows all the
// parts.
//
// Stages, each the same binary:
//
//	coop daemon    stage 1: leaves the login session behind
//	coop-enter     stage 2, ordinary users only: waits for its id maps
//	coop-daemon    stage 3: the daemon
//
// Invariant: at most one stage 3 per COOP_HOME holds the lock on daemon.pid,
// and only the holder touches anything in COOP_HOME but daemon.lock.
package daemon

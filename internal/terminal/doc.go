// Package terminal is the daemon's side of a terminal: it stores the output on
// disk, keeps the screen as it is now, and serves any number of clients. It owns
// the logs below sandboxes/<id>/terminals. It starts and ends no programs: the
// engine does, and tells it.
//
//	PID 1's ring → reader → log → acknowledged
//	                  ├→ backlog → painter → screen ─┐ on attach, and for a
//	                  └→ queues of the clients       ◄┘ client that was too slow
//
// Invariant: a byte is acknowledged to PID 1 only after it is in the log, and
// the log's own length says how far the stream was stored, so that a daemon
// killed at any instant neither loses nor doubles one.
package terminal

import "errors"

// ErrFull says that a program does not read its terminal.
var ErrFull = errors.New("the program does not read its input")

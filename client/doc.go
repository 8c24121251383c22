// Package client is Coop's Go SDK: one method for each endpoint of /api/v1 and
// a Stream for commands whose input and output are followed while they run. It
// imports package api and the standard library, nothing else, and it starts no
// daemon: a caller who wants that gives Options.Dial.
//
// Invariant: every error that the daemon itself gave is an *api.Error; a daemon
// that cannot be reached is ErrUnreachable, one that went away in the middle is
// ErrLost, and no other error hides one of the three from errors.Is and
// errors.As.
//
// A *Client may be used by several goroutines at once.
package client

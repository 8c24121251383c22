// Package launch starts PID 1 of a sandbox and speaks with it: the daemon's end
// of initproto. It knows how a sandbox is cloned and found again, not why.
//
// Invariant: Start either returns a sandbox whose PID 1 has reported ready and
// whose state.json is on disk, or leaves no process behind. What comes from PID
// 1 is bounded and checked; a PID 1 that misbehaves loses its connection and
// nothing else.
package launch

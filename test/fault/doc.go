// Package fault breaks things on purpose and looks at what is left: daemons
// killed at any moment, clients that vanish, disks that are full, PID 1s that
// die, crowds. A file is a kind of fault. Nothing here sleeps: a fault comes
// after an event, a line of output or a request that was sent.
package fault

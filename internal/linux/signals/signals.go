// Package signals names signals.
package signals

import (
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Number gives the number of SIGTERM and the like, 0 for an unknown name.
func Number(name string) int { return int(unix.SignalNum(name)) }

// Name gives the name of a number; one without a name is written SIG34.
func Name(n int) string {
	if s := unix.SignalName(syscall.Signal(n)); s != "" {
		return s
	}
	return "SIG" + strconv.Itoa(n)
}

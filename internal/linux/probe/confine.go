package probe

import (
	"context"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// seccomp asks for each filter action the profiles use.
func (h *host) seccomp(context.Context) Check {
	c := Check{Name: "seccomp", Required: true, OK: true, Detail: "filters with errno, kill and notify are available"}
	actions := []struct {
		name  string
		value uint32
	}{
		{"errno", unix.SECCOMP_RET_ERRNO},
		{"kill_process", unix.SECCOMP_RET_KILL_PROCESS},
		{"user_notif", unix.SECCOMP_RET_USER_NOTIF},
	}
	for _, action := range actions {
		_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action.value)))
		if errno != 0 {
			c.OK = false
			c.Detail = refused("seccomp(SECCOMP_GET_ACTION_AVAIL, "+action.name+")", errno)
			c.Hint = "use a kernel with CONFIG_SECCOMP_FILTER=y; in a container, one whose profile allows seccomp(2)"
			return c
		}
	}
	return c
}

// landlock is a second fence behind the mounts.
func (h *host) landlock(context.Context) Check {
	c := Check{Name: "landlock"}
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		c.Detail = refused("landlock_create_ruleset", errno)
		c.Hint = "boot a kernel from 5.13 on with landlock in lsm=, for a second fence around files"
		return c
	}
	c.OK, c.Detail = true, fmt.Sprintf("ABI %d", abi)
	return c
}

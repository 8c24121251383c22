package probe

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// The oldest kernel: 5.11 brought overlayfs into user namespaces.
const minMajor, minMinor = 5, 11

func (h *host) kernel(context.Context) Check {
	c := Check{Name: "kernel", Required: true}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		c.Detail = refused("uname", err)
		c.Hint = "run coop on Linux"
		return c
	}
	return judgeKernel(c, unix.ByteSliceToString(u.Release[:]))
}

func judgeKernel(c Check, release string) Check {
	var major, minor int
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	c.OK = err == nil && (major > minMajor || major == minMajor && minor >= minMinor)
	c.Detail = "Linux " + release
	if !c.OK {
		c.Detail += fmt.Sprintf(" is older than %d.%d", minMajor, minMinor)
		c.Hint = fmt.Sprintf("install a kernel of version %d.%d or later", minMajor, minMinor)
	}
	return c
}

// pidfd is how the daemon watches and signals PID 1 without mistaking a reused pid.
func (h *host) pidfd(context.Context) Check {
	c := Check{Name: "pidfd", Required: true, OK: true, Detail: "processes can be held by descriptor"}
	fd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		c.OK = false
		c.Detail = refused("pidfd_open", err)
		c.Hint = outerFilter
		return c
	}
	_ = unix.Close(fd) // nothing is written to it
	return c
}

// clone3 starts a process inside its cgroup; without it the process is moved there.
func (h *host) clone3(context.Context) Check {
	c := Check{Name: "clone3", OK: true, Detail: "processes can be started in their group"}
	// Size 0 is refused with EINVAL by a kernel that knows the call.
	_, _, errno := unix.RawSyscall(unix.SYS_CLONE3, 0, 0, 0)
	if errno != unix.EINVAL {
		c.OK = false
		c.Detail = refused("clone3", errno)
		c.Hint = outerFilter
	}
	return c
}

// outerFilter is the hint for calls that every supported kernel has.
const outerFilter = "a seccomp filter around this process refuses the call: start the outer container with a newer or no seccomp profile (docker run --security-opt seccomp=unconfined)"

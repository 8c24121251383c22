package probe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// procMount asks for a fresh /proc, without which a sandbox would see the host's
// processes. The kernel refuses it where /proc is covered in part, as it is in
// unprivileged containers, because the fresh one would show what is covered.
func (h *host) procMount(ctx context.Context) Check {
	c := Check{Name: "proc-mount", Required: true, Detail: "a fresh /proc can be mounted"}
	if c, no := h.blocked(c); no {
		return c
	}
	attempts, err := tryIn(ctx, unix.CLONE_NEWUSER|unix.CLONE_NEWNS|unix.CLONE_NEWPID, "proc")
	step := "clone(CLONE_NEWPID)"
	if err == nil {
		step, err = attemptError(attempts, "proc-mount")
	}
	if err == nil {
		c.OK = true
		return c
	}
	c.Detail, c.Hint = refused(step, err), outerFilter
	if covered := h.coveredProc(); len(covered) > 0 && errors.Is(err, syscall.EPERM) {
		c.Detail += fmt.Sprintf(" (%d mounts cover parts of /proc, such as %s)", len(covered), covered[0])
		c.Hint = "start the outer container with docker run --security-opt systempaths=unconfined, or podman run --security-opt unmask=ALL"
	}
	return c
}

func childProc() []attempt {
	if err := privateMounts(); err != nil {
		return []attempt{result("proc-mount", "make mounts private", err)}
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	return []attempt{result("proc-mount", "mount a fresh /proc", unix.Mount("proc", "/proc", "proc", flags, ""))}
}

func (h *host) coveredProc() []string {
	var covered []string
	for _, point := range h.mountPoints() {
		if strings.HasPrefix(point, "/proc/") {
			covered = append(covered, point)
		}
	}
	return covered
}

// netns asks for a network of the sandbox's own; every mode but host needs it.
func (h *host) netns(ctx context.Context) Check {
	c := Check{Name: "netns", Required: true, Detail: "a network namespace can be made and its loopback brought up"}
	if c, no := h.blocked(c); no {
		return c
	}
	attempts, err := tryIn(ctx, unix.CLONE_NEWUSER|unix.CLONE_NEWNET, "net")
	step := "clone(CLONE_NEWNET)"
	if err == nil {
		step, err = attemptError(attempts, "netns")
	}
	if err == nil {
		c.OK = true
		return c
	}
	c.Detail, c.Hint = refused(step, err), outerFilter
	if h.sysctl("user.max_net_namespaces") == "0" {
		c.Detail += " (user.max_net_namespaces is 0)"
		c.Hint = "sudo sysctl -w user.max_net_namespaces=15000"
	}
	return c
}

func childNet() []attempt {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return []attempt{result("netns", "socket", err)}
	}
	defer unix.Close(fd)
	ifreq, err := unix.NewIfreq("lo")
	if err != nil {
		return []attempt{result("netns", "name lo", err)}
	}
	ifreq.SetUint16(unix.IFF_UP)
	return []attempt{result("netns", "bring lo up", unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifreq))}
}

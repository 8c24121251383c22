package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func (h *host) userns(ctx context.Context) Check {
	c := Check{Name: "userns", Required: true, Detail: "a user namespace with full capabilities can be made"}
	attempts, err := tryIn(ctx, unix.CLONE_NEWUSER|unix.CLONE_NEWNS, "userns")
	step := "clone(CLONE_NEWUSER)"
	if err == nil {
		step, err = attemptError(attempts, "userns")
	}
	if err == nil {
		c.OK = true
		return c
	}
	why, hint := h.diagnose(err)
	c.Detail, c.Hint = refused(step, err)+why, hint
	return c
}

// childUserns needs a capability: AppArmor lets the namespace be made but without any.
func childUserns() []attempt {
	return []attempt{result("userns", "mount in a user namespace", privateMounts())}
}

func privateMounts() error { return unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "") }

// diagnose finds the cause of a refused user namespace, the certain ones first.
func (h *host) diagnose(err error) (why, hint string) {
	switch {
	case h.sysctl("user.max_user_namespaces") == "0":
		return " (user.max_user_namespaces is 0)",
			"sudo sysctl -w user.max_user_namespaces=15000"
	case h.uid != 0 && h.sysctl("kernel.unprivileged_userns_clone") == "0":
		return " (kernel.unprivileged_userns_clone is 0)",
			"sudo sysctl -w kernel.unprivileged_userns_clone=1, and keep it in /etc/sysctl.d/90-coop.conf"
	case h.uid != 0 && h.sysctl("kernel.apparmor_restrict_unprivileged_userns") == "1":
		return " (AppArmor restricts unprivileged user namespaces)", h.apparmorHint()
	case h.inChroot():
		return " (this process is in a chroot)",
			"leave the chroot, or enter it with pivot_root: the kernel makes no user namespaces in a chroot"
	case h.filtered():
		return " (a seccomp filter is around this process)", outerFilter
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EUSERS):
		return " (too many user namespaces, or nested too deep)",
			"raise user.max_user_namespaces, or run coop fewer levels deep"
	case errors.Is(err, syscall.EINVAL):
		return "", "use a kernel with CONFIG_USER_NS=y"
	}
	return "", "ask the administrator to allow unprivileged user namespaces, or run coop as root"
}

// apparmorHint is the profile that Ubuntu 24.04 wants for each program that makes user
// namespaces; it allows that and confines nothing.
func (h *host) apparmorHint() string {
	return fmt.Sprintf(`install this profile as /etc/apparmor.d/coop, then run: sudo apparmor_parser -r /etc/apparmor.d/coop
abi <abi/4.0>,
include <tunables/global>
profile coop %q flags=(unconfined) {
  userns,
  include if exists <local/coop>
}`, h.exe)
}

// inChroot: after chroot to a plain directory no mount is at "/" any more.
func (h *host) inChroot() bool {
	points := h.mountPoints()
	return len(points) > 0 && !slices.Contains(points, "/")
}

// filtered says whether a seccomp filter was inherited; 2 is filter mode (proc(5)).
func (h *host) filtered() bool {
	data, err := os.ReadFile(filepath.Join(h.proc, "self/status"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "Seccomp:"); ok {
			return strings.TrimSpace(value) == "2"
		}
	}
	return false
}

// blocked is the answer of a check whose try needs the namespaces that userns found
// refused.
func (h *host) blocked(c Check) (Check, bool) {
	if h.usable.OK {
		return c, false
	}
	c.Detail = "not tried: it needs a user namespace"
	c.Hint = "see userns"
	return c, true
}

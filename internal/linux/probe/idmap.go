package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// wantIDs is a full range of ids for a sandbox.
const wantIDs = 65536

// idmap asks whether a sandbox can have more ids than the user's own.
func (h *host) idmap(context.Context) Check {
	c := Check{Name: "newuidmap"}
	if h.realRoot() {
		c.OK, c.Detail = true, "not needed: root maps ids itself"
		return c
	}
	if n := h.mappedIDs(); h.uid == 0 {
		c.OK, c.Detail = n >= wantIDs, fmt.Sprintf("%d ids are mapped in this user namespace", n)
		if !c.OK {
			c.Hint = "run coop doctor outside of the user namespace to see why"
		}
		return c
	}
	for _, helper := range []string{"newuidmap", "newgidmap"} {
		if err := checkHelper(helper); err != nil {
			c.Detail = refused(helper, err) + "; sandboxes have one id only, and in images owners are emulated"
			c.Hint = "sudo apt install uidmap (Debian, Ubuntu) or shadow-utils (Fedora)"
			return c
		}
	}
	return h.ranges(c)
}

// checkHelper finds a helper that has the privilege to do its work.
func checkHelper(name string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		return errors.New("not installed")
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	_, capsErr := unix.Getxattr(path, "security.capability", nil)
	if info.Mode()&os.ModeSetuid == 0 && capsErr != nil {
		return fmt.Errorf("%s is neither setuid root nor has file capabilities", path)
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err == nil && fs.Flags&unix.ST_NOSUID != 0 {
		return fmt.Errorf("%s is on a nosuid mount", path)
	}
	return nil
}

// ranges looks for the user in subuid and subgid, by name and by number.
func (h *host) ranges(c Check) Check {
	name := strconv.Itoa(h.uid)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	uids := h.subIDs("subuid", name)
	gids := h.subIDs("subgid", name)
	c.OK = uids >= wantIDs && gids >= wantIDs
	c.Detail = fmt.Sprintf("%s has %d subordinate user and %d group ids", name, uids, gids)
	if !c.OK {
		c.Detail += fmt.Sprintf(" of %d wanted; sandboxes have one id only, and in images owners are emulated", wantIDs)
		c.Hint = fmt.Sprintf("sudo usermod --add-subuids 524288-589823 --add-subgids 524288-589823 %s", name)
	}
	return c
}

// subIDs adds up the ranges of a user in /etc/subuid or /etc/subgid (subuid(5)).
func (h *host) subIDs(file, name string) int64 {
	data, err := os.ReadFile(filepath.Join(h.etc, file))
	if err != nil {
		return 0
	}
	var total int64
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) != 3 || fields[0] != name && fields[0] != strconv.Itoa(h.uid) {
			continue
		}
		if n, err := strconv.ParseInt(fields[2], 10, 64); err == nil && n > 0 {
			total += n
		}
	}
	return total
}

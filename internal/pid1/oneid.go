package pid1

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// mapped refuses a user that has no id here. Without the emulation of root the
// kernel does so when the program is started; with it, setresuid in the new
// process says that it worked, and the program would run as root under another
// name.
func (in *Init) mapped(c *syscall.Credential) error {
	if in.oneID && (c.Uid != 0 || c.Gid != 0) {
		return fail("exec", "", unix.EINVAL)
	}
	return nil
}

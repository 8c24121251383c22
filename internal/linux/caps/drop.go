package caps

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Apply leaves a program that the calling thread executes at most keep, whatever
// its uid and file capabilities: capabilities(7), "Transformation of
// capabilities during execve". The thread's own permitted set stays as it is,
// because the thread still has work to do before execve.
//
// The inheritable set is emptied as well as the bounding set trimmed: the latter
// does not limit the former.
func Apply(keep Set) error {
	if err := ClearAmbient(); err != nil {
		return err
	}
	if err := ClearInheritable(); err != nil {
		return err
	}
	return DropBounding(keep)
}

// ClearAmbient empties the set that survives execve of ordinary programs.
func ClearAmbient() error {
	return os.NewSyscallError("prctl PR_CAP_AMBIENT_CLEAR_ALL",
		unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
}

// DropBounding takes every capability outside keep from the bounding set, those
// included that are newer than this program. It needs CAP_SETPCAP unless there
// is nothing to take, and adds nothing: what was gone before stays gone.
func DropBounding(keep Set) error {
	for c := Cap(0); c < 64; c++ {
		present, err := unix.PrctlRetInt(unix.PR_CAPBSET_READ, uintptr(c), 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			return nil // past the kernel's last capability
		}
		if err != nil {
			return os.NewSyscallError("prctl PR_CAPBSET_READ", err)
		}
		if present == 0 || keep.Has(c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			return os.NewSyscallError("prctl PR_CAPBSET_DROP "+c.String(), err)
		}
	}
	return nil
}

// ClearInheritable empties the set that execve adds to root's.
func ClearInheritable() error {
	return change(func(d *[2]unix.CapUserData) {
		d[0].Inheritable, d[1].Inheritable = 0, 0
	})
}

// DropPermitted trims what the thread itself may do, now and later, to keep.
// After it DropBounding may lack CAP_SETPCAP, so it comes last.
func DropPermitted(keep Set) error {
	return change(func(d *[2]unix.CapUserData) {
		for i := range d {
			word := uint32(keep >> (32 * i))
			d[i].Permitted &= word
			d[i].Effective &= word
			d[i].Inheritable &= word
		}
	})
}

func change(edit func(*[2]unix.CapUserData)) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	edit(&data)
	return os.NewSyscallError("capset", unix.Capset(&header, &data[0]))
}

// Package spawn clones a process into new namespaces. A multi-threaded program
// cannot unshare a user namespace, so namespaces are always made by clone, and
// the parent writes the id maps before the child executes.
package spawn

import (
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/pidfd"
)

// Config says what to clone.
type Config struct {
	Program  *os.File   // executed by descriptor
	Argv     []string   // argv[0] included
	Env      []string   // nothing is inherited
	Files    []*os.File // descriptors 3 and up; 0, 1 and 2 are /dev/null
	Stdio    *os.File   // instead of /dev/null for 1 and 2
	UIDs     idmap.Map
	GIDs     idmap.Map
	Groups   bool // setgroups stays allowed
	Net      bool // a network namespace of its own
	PIDs     bool // pid, uts, ipc and cgroup namespaces of its own
	CgroupFD *os.File
	Setsid   bool
}

// Start clones. The child is uid 0 and gid 0 of its user namespace.
func Start(c Config) (*pidfd.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	fd := -1
	sys := &syscall.SysProcAttr{
		Cloneflags:                 flags(c),
		UidMappings:                c.UIDs.Sys(),
		GidMappings:                c.GIDs.Sys(),
		GidMappingsEnableSetgroups: c.Groups,
		Credential:                 &syscall.Credential{NoSetGroups: !c.Groups},
		PidFD:                      &fd,
		Setsid:                     c.Setsid,
	}
	if c.CgroupFD != nil {
		sys.UseCgroupFD, sys.CgroupFD = true, int(c.CgroupFD.Fd())
	}
	attr := &syscall.ProcAttr{Env: c.Env, Sys: sys, Files: files(c, null), Dir: "/"}
	pid, _, err := syscall.StartProcess("/proc/self/fd/"+strconv.Itoa(int(c.Program.Fd())), c.Argv, attr)
	if err != nil {
		return nil, os.NewSyscallError("clone", err)
	}
	if fd < 0 { // kernels before 5.4 in principle; the probe refuses those earlier
		return pidfd.Open(pid)
	}
	return pidfd.FromFD(pid, fd)
}

func flags(c Config) uintptr {
	f := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS)
	if c.PIDs {
		f |= unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWCGROUP
	}
	if c.Net {
		f |= unix.CLONE_NEWNET
	}
	return f
}

func files(c Config, null *os.File) []uintptr {
	out := null
	if c.Stdio != nil {
		out = c.Stdio
	}
	list := []uintptr{null.Fd(), out.Fd(), out.Fd()}
	for _, f := range c.Files {
		list = append(list, f.Fd())
	}
	return list
}

// UserNS makes a user namespace with the given maps and returns a descriptor of
// it, for idmapped mounts. The process that held it is gone on return.
func UserNS(uids, gids idmap.Map) (*os.File, error) {
	// The child shall not outlive us, stopped for ever: whoever becomes its
	// parent then would be its tracer. The signal comes when this thread ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fd := -1
	sys := &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL, Cloneflags: unix.CLONE_NEWUSER, UidMappings: uids.Sys(), GidMappings: gids.Sys(),
		GidMappingsEnableSetgroups: true, PidFD: &fd, Ptrace: true,
	}
	// Ptrace stops the child at its exec, so that it is there to be looked at;
	// then it is killed. It never runs an instruction of its program.
	pid, _, err := syscall.StartProcess("/proc/self/exe", []string{"coop-userns"}, &syscall.ProcAttr{Sys: sys})
	if err != nil {
		return nil, os.NewSyscallError("clone user namespace", err)
	}
	defer reap(pid, fd)
	return os.Open("/proc/" + strconv.Itoa(pid) + "/ns/user")
}

func reap(pid, fd int) {
	_ = unix.Kill(pid, unix.SIGKILL) // it is our stopped child: it cannot be gone
	var ws unix.WaitStatus
	for {
		if _, err := unix.Wait4(pid, &ws, unix.WALL, nil); err != unix.EINTR && (err != nil || ws.Exited() || ws.Signaled()) {
			break
		}
	}
	if fd >= 0 {
		unix.Close(fd)
	}
}

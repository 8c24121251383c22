package userns

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/idmap"
)

// WaitArg0 is the name under which the program is started again inside the new
// namespace. Its main must then call Wait.
const WaitArg0 = "coop-enter"

// waitFD is where Wait expects its signal; the caller's files follow it.
const waitFD = 3

// Child says what to run inside.
type Child struct {
	Argv  []string
	Env   []string
	Files []*os.File // descriptors 3 and up of the program
	Log   *os.File   // its stdout and stderr
}

// Enter clones a child into a new user and mount namespace, writes its id maps
// and lets it execute. single is why only one id could be mapped, nil when
// there is a range.
//
// Maps can only be written from outside, and by the helper newuidmap when they
// hold more than the caller's own id; and a program executed before its uid is
// mapped has no capabilities. So the child waits, and executes once more.
func Enter(c Child) (pid int, single, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, nil, err
	}
	defer r.Close()
	defer w.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, nil, err
	}
	defer null.Close()
	files := []uintptr{null.Fd(), c.Log.Fd(), c.Log.Fd(), r.Fd()}
	for _, f := range c.Files {
		files = append(files, f.Fd())
	}
	argv := append([]string{WaitArg0, strconv.Itoa(len(c.Files))}, c.Argv...)
	pid, _, err = syscall.StartProcess("/proc/self/exe", argv, &syscall.ProcAttr{
		Env: c.Env, Files: files, Dir: "/",
		Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, Setsid: true},
	})
	if err != nil {
		return 0, nil, os.NewSyscallError("clone user namespace", err)
	}
	single, err = writeMaps(pid)
	if err == nil {
		_, err = w.Write([]byte{1})
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)    // our own child, still waiting
		_, _ = unix.Wait4(pid, nil, 0, nil) // nothing of it shall stay
		return 0, nil, fmt.Errorf("map ids: %w", err)
	}
	return pid, single, nil
}

// Wait is the child's part: it waits for its maps and executes the program.
func Wait(args []string) error {
	signal := os.NewFile(waitFD, "maps")
	if _, err := io.ReadFull(signal, make([]byte, 1)); err != nil {
		return errors.New("the parent went away")
	}
	if len(args) < 3 {
		return errors.New("usage")
	}
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for i := range n { // our files move down to 3
		if err := unix.Dup3(waitFD+1+i, waitFD+i, 0); err != nil {
			return err
		}
	}
	if err := unix.CloseRange(uint(waitFD+n), ^uint(0), 0); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", args[2:], os.Environ())
}

// writeMaps chooses the widest map the caller can have.
func writeMaps(pid int) (single, err error) {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 { // root of a container: everything it has
		return nil, writeOwn(pid)
	}
	reason := rangeMaps(pid, uid, gid)
	if reason == nil {
		return nil, nil
	}
	// newuidmap may have written one of the two maps before it failed; then the
	// direct way fails too and says so.
	if err := write(pid, "setgroups", "deny"); err != nil {
		return nil, err
	}
	if err := write(pid, "gid_map", fmt.Sprintf("0 %d 1", gid)); err != nil {
		return nil, err
	}
	return reason, write(pid, "uid_map", fmt.Sprintf("0 %d 1", uid))
}

// rangeMaps maps a subordinate range with the helpers; the error says why not.
func rangeMaps(pid, uid, gid int) error {
	for _, helper := range []string{"newuidmap", "newgidmap"} {
		if _, err := exec.LookPath(helper); err != nil {
			return fmt.Errorf("%s is not installed", helper)
		}
	}
	firstUID, countUID, ok := Subordinate("/etc/subuid", uid)
	if !ok {
		return errors.New("no range in /etc/subuid")
	}
	firstGID, countGID, ok := Subordinate("/etc/subgid", uid)
	if !ok {
		return errors.New("no range in /etc/subgid")
	}
	if err := helper("newgidmap", pid, rangeMap(gid, firstGID, countGID)); err != nil {
		return err
	}
	return helper("newuidmap", pid, rangeMap(uid, firstUID, countUID))
}

func helper(name string, pid int, m idmap.Map) error {
	args := []string{strconv.Itoa(pid)}
	for _, l := range m {
		args = append(args, fmt.Sprint(l.Inside), fmt.Sprint(l.Outside), fmt.Sprint(l.Count))
	}
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, firstLine(out))
	}
	return nil
}

func firstLine(b []byte) string {
	for i, c := range b {
		if c == '\n' {
			return string(b[:i])
		}
	}
	return string(b)
}

func writeOwn(pid int) error {
	uids, gids, err := idmap.Self()
	if err != nil {
		return err
	}
	if err := write(pid, "gid_map", text(gids)); err != nil {
		return err
	}
	return write(pid, "uid_map", text(uids))
}

func text(m idmap.Map) string {
	s := ""
	for _, l := range m.Identity() {
		s += fmt.Sprintln(l.Inside, l.Outside, l.Count)
	}
	return s
}

func write(pid int, file, text string) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, file), []byte(text), 0)
}

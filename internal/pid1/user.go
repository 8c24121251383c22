package pid1

import (
	"io"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxPasswd bounds what is read of the sandbox's own /etc/passwd: it may be
// anything by now.
const maxPasswd = 1 << 20

// resolveUser turns a name, uid or uid:gid into credentials, a home directory
// and a login name, by the sandbox's own /etc/passwd.
func resolveUser(user string) (cred *syscall.Credential, home, name string, err error) {
	return resolveIn(user, readPasswd)
}

// resolveIn does it by another passwd file.
func resolveIn(user string, passwd func() string) (cred *syscall.Credential, home, name string, err error) {
	first, second, hasGID := strings.Cut(user, ":")
	uid, numeric := parseID(first)
	entry, found := findUser(first, uid, numeric, passwd)
	if !numeric && !found {
		return nil, "", "", fail("user", user, unix.ENOENT)
	}
	if !found {
		entry = passwdEntry{name: first, uid: uid, gid: uid, home: "/home/" + first}
	}
	if hasGID {
		gid, ok := parseID(second)
		if !ok {
			return nil, "", "", fail("user", user, unix.EINVAL)
		}
		entry.gid = gid
	}
	if entry.uid == 0 {
		entry.home = "/root"
	}
	return &syscall.Credential{Uid: entry.uid, Gid: entry.gid}, entry.home, entry.name, nil
}

func parseID(s string) (uint32, bool) {
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && n != 1<<32-1
}

type passwdEntry struct {
	name     string
	uid, gid uint32
	home     string
}

// findUser looks for a name, or for a uid if numeric. Root is known without a file.
func findUser(name string, uid uint32, numeric bool, passwd func() string) (passwdEntry, bool) {
	if name == "root" || (numeric && uid == 0) {
		return passwdEntry{name: "root", home: "/root"}, true
	}
	for _, line := range strings.Split(passwd(), "\n") {
		f := strings.Split(line, ":")
		if len(f) < 7 {
			continue
		}
		u, ok1 := parseID(f[2])
		g, ok2 := parseID(f[3])
		if ok1 && ok2 && (f[0] == name || (numeric && u == uid)) {
			return passwdEntry{name: f[0], uid: u, gid: g, home: f[5]}, true
		}
	}
	return passwdEntry{}, false
}

// loginShell is the shell the sandbox's own /etc/passwd gives a user, or else
// bash; empty when neither can be executed. One that only turns people away is
// none: whoever opens a terminal here has decided about that.
func loginShell(uid uint32) string {
	shells := []string{"/bin/bash"}
	for _, line := range strings.Split(readPasswd(), "\n") {
		f := strings.Split(line, ":")
		if len(f) < 7 {
			continue
		}
		if u, ok := parseID(f[2]); ok && u == uid {
			shells = append([]string{f[6]}, shells...)
			break
		}
	}
	for _, s := range shells {
		refuses := path.Base(s) == "nologin" || path.Base(s) == "false"
		if path.IsAbs(s) && !refuses && executable(s) == nil {
			return s
		}
	}
	return ""
}

// readPasswd reads the file if it is an ordinary one; a fifo or a device in its
// place must not hold PID 1 up.
func readPasswd() string {
	fd, err := openInside("/etc/passwd", unix.O_RDONLY, 0)
	return readFile(fd, err)
}

func readFile(fd int, err error) string {
	if err != nil {
		return ""
	}
	f := os.NewFile(uintptr(fd), "passwd")
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(f, maxPasswd)) // what could be read is what counts
	return string(b)
}

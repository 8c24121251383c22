package script

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/coop-dev/coop/test/rootfs"
)

// ownerProbe is what this program is called inside an image: a static program
// that changes owners and ids by bare system calls, as no preloaded library
// could pretend for it.
const ownerProbe = "owners"

// rootfsWord makes a root filesystem of programs of the host: rootfs FILE.
func rootfsWord(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: rootfs FILE")
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	self, err := os.Executable()
	ts.Check(err)
	ts.Check(rootfs.Write(f, rootfs.Tools(), map[string]string{"/bin/" + ownerProbe: self}))
}

// probeOwners is the program of that name. It prints each call with its answer,
// and who owns the file in the end.
func probeOwners() bool {
	if filepath.Base(os.Args[0]) != ownerProbe {
		return false
	}
	const file = "/etc/owned" // /root is nobody else's
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	path, _ := syscall.BytePtrFromString(file)
	device, _ := syscall.BytePtrFromString("/root/device")
	f, err := os.Open(file)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	p, at := uintptr(unsafe.Pointer(path)), ^uintptr(99) // AT_FDCWD
	for _, c := range []struct {
		name string
		args [6]uintptr
		nr   uintptr
	}{
		{"fchown", [6]uintptr{f.Fd(), 1234, 1234}, syscall.SYS_FCHOWN},
		{"fchownat", [6]uintptr{at, p, 1234, 1234}, syscall.SYS_FCHOWNAT},
		{"mknodat", [6]uintptr{at, uintptr(unsafe.Pointer(device)), syscall.S_IFCHR | 0o666, 0x103}, syscall.SYS_MKNODAT},
		{"setgroups", [6]uintptr{0, 0}, syscall.SYS_SETGROUPS},
		{"setresgid", [6]uintptr{1234, 1234, 1234}, syscall.SYS_SETRESGID},
		{"setresuid", [6]uintptr{1234, 1234, 1234}, syscall.SYS_SETRESUID},
	} {
		_, _, errno := syscall.RawSyscall6(c.nr, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		fmt.Println(c.name, int(errno))
	}
	var st syscall.Stat_t
	if err := syscall.Stat(file, &st); err != nil {
		fmt.Println(err)
	}
	fmt.Println("owner", st.Uid, "uid", syscall.Getuid())
	return true
}

package seccomp

import "golang.org/x/sys/unix"

// emulateRoot makes a sandbox with a single id look like root's to dpkg, rpm and
// tar. SECCOMP_RET_ERRNO with 0 returns 0 without making the call.
//
// It is a lie that a careful program can see through: apt reads its uid back
// after setresuid and therefore needs APT::Sandbox::User "root".
func emulateRoot(pol policy) {
	pol.set(success(),
		"chown", "fchown", "lchown", "fchownat",
		"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid",
		"setfsuid", "setfsgid", "setgroups", "capset",
	)
	pol.set(emulatedMknodRule(1, pol["mknod"]), "mknod")
	pol.set(emulatedMknodRule(2, pol["mknodat"]), "mknodat")
}

func success() block { return errno(0) }

// emulatedMknodRule pretends to make devices. Number 0:0 is an overlay whiteout,
// which no package holds, and is left to the profile, as are all other types.
func emulatedMknodRule(mode uint32, otherwise block) block {
	device := when(arg(mode+1).is(0), otherwise, success())
	types := []uint32{unix.S_IFCHR, unix.S_IFBLK}
	return whenAny(arg(mode).masked(unix.S_IFMT), types, device, otherwise)
}

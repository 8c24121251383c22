package seccomp

import "golang.org/x/sys/unix"

// strict takes from Default:
//
//	call                      what no longer works
//	ptrace                    debuggers, strace
//	chroot                    debootstrap, sshd
//	mknod, mknodat            mkfifo (devices are refused in Default already)
//	personality but 0 and ~0  setarch linux32, setarch --uname-2.6
//	modify_ldt                16-bit code in Wine, DOSEMU
//	vmsplice                  a copy avoided now and then; a source of kernel bugs
//	fanotify_mark             nothing: fanotify_init is refused in Default already
//	adjtimex, clock_adjtime   ntptime (setting the clock needs CAP_SYS_TIME anyway)
//	socket(AF_NETLINK)        ip, ss, getifaddrs
//
// The Internet, inotify and the change of user id stay.
func strict(pol policy) {
	pol.set(deny(),
		"ptrace", "chroot", "mknod", "mknodat", "modify_ldt", "vmsplice",
		"fanotify_mark", "adjtimex", "clock_adjtime",
	)
	pol.set(personalityRule(0, 0xffffffff), "personality")
	pol.set(socketRule(errno(unix.EAFNOSUPPORT)), "socket")
}

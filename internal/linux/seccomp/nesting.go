package seccomp

import "golang.org/x/sys/unix"

// nesting adds to Default what dockerd, containerd and runc use. All of it acts
// on namespaces that the sandbox's user namespace owns.
//
// bpf stays refused: runc wants it for device cgroups and does without in a user
// namespace. The rule for prlimit64 stays too, so `docker run --ulimit` fails.
func nesting(pol policy) {
	pol.set(allow(),
		"mount", "umount2", "pivot_root", "chroot",
		"fsopen", "fsconfig", "fsmount", "fspick", "move_mount",
		"open_tree", "open_tree_attr", "mount_setattr", "statmount", "listmount",
		"clone", "clone3", "unshare", "setns",
		"sethostname", "setdomainname",
		"keyctl", "add_key", "request_key",
		"mknod", "mknodat", // overlay whiteouts; the kernel refuses real devices
	)
	pol.set(nestingSocketRule(), "socket")
}

// nestingSocketRule opens netlink, packet and raw sockets: bridges, DHCP and
// iptables in the namespaces inside.
func nestingSocketRule() block {
	families := []uint32{unix.AF_PACKET, unix.AF_NETLINK, unix.AF_INET6, unix.AF_INET, unix.AF_UNIX}
	return whenAny(arg(0), families, allow(), errno(unix.EAFNOSUPPORT))
}

package seccomp

import "golang.org/x/sys/unix"

// The rules that look at arguments. All but the pointer in prlimitRule compare
// the low 32 bits, because the kernel's parameter is no wider; see arg.

const (
	prioProcess      = 0 // PRIO_PROCESS, sys/resource.h
	ioprioWhoProcess = 1 // IOPRIO_WHO_PROCESS, linux/ioprio.h
)

// namespaceFlags are those of clone. CLONE_NEWTIME is not among them: in clone
// that bit is part of the exit signal. CLONE_NEWCGROUP is left to the kernel:
// PID 1's spawner tags process trees with it, programs lack CAP_SYS_ADMIN.
const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

func cloneRule() block {
	return when(arg(0).has(namespaceFlags), deny(), allow())
}

// unshareRule lists what may pass rather than what may not, so that a namespace
// flag of a later kernel is refused too.
func unshareRule() block {
	const harmless = unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SYSVSEM
	return when(arg(0).is(unix.CLONE_NEWCGROUP), allow(),
		when(arg(0).masked(^uint32(harmless)).is(0), allow(), deny()))
}

func personalityRule(values ...uint32) block {
	return whenAny(arg(0), values, allow(), deny())
}

// socketRule allows UNIX and Internet sockets. Netlink comes before the type is
// looked at because netlink sockets are SOCK_RAW by custom.
//
// A family is refused with EAFNOSUPPORT, as by a kernel without it: useradd and
// su give up when the audit family answers EPERM, and go on without it here.
func socketRule(netlink block) block {
	absent := errno(unix.EAFNOSUPPORT)
	inet := socketTypeRule(socketProtocolRule())
	rule := when(arg(0).is(unix.AF_NETLINK), netlink, absent)
	rule = whenAny(arg(0), []uint32{unix.AF_INET, unix.AF_INET6}, inet, rule)
	return when(arg(0).is(unix.AF_UNIX), socketTypeRule(allow()), rule)
}

// socketTypeRule leaves out SOCK_RAW, and SOCK_PACKET, with which AF_INET gives
// a packet socket. The mask is the kernel's SOCK_TYPE_MASK; above it are flags.
func socketTypeRule(next block) block {
	types := []uint32{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_SEQPACKET}
	return whenAny(arg(1).masked(0xf), types, next, deny())
}

// socketProtocolRule keeps the protocols out that are modules loaded on first
// use by whoever asks (SCTP, L2TP, SMC). ICMP here is ping's datagram socket;
// Go listens with MPTCP by default.
func socketProtocolRule() block {
	protocols := []uint32{
		unix.IPPROTO_MPTCP, unix.IPPROTO_ICMPV6, unix.IPPROTO_ICMP,
		unix.IPPROTO_UDP, unix.IPPROTO_TCP, unix.IPPROTO_IP,
	}
	return whenAny(arg(2), protocols, allow(), errno(unix.EPROTONOSUPPORT))
}

// netlinkRoute is for getifaddrs; every other netlink family (nftables, audit,
// generic, …) is kernel surface that programs do without.
func netlinkRoute() block {
	return when(arg(2).is(unix.NETLINK_ROUTE), allow(), errno(unix.EAFNOSUPPORT))
}

// socketpairRule: only AF_UNIX has pairs, but the kernel makes the two sockets
// before it finds that out.
func socketpairRule() block {
	return when(arg(0).is(unix.AF_UNIX), allow(), errno(unix.EAFNOSUPPORT))
}

// ioctlRule refuses typing into a terminal on behalf of its user. CVE-2019-10063
// is this very check done on 64 bits.
func ioctlRule() block {
	return whenAny(arg(1), []uint32{unix.TIOCSTI, unix.TIOCLINUX}, deny(), allow())
}

// mknodRule allows fifos, sockets and regular files; zero means regular. The
// kernel's mode has 16 bits, of which these are the type.
func mknodRule(mode uint32) block {
	types := []uint32{0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK}
	return whenAny(arg(mode).masked(unix.S_IFMT), types, allow(), deny())
}

// prlimitRule allows setting one's own limits and reading anybody's. Naming PID
// 1 would not do: each of its threads has an id that reaches the same limits.
func prlimitRule() block {
	reading := when(arg(2).is(0), when(argHigh(2).is(0), allow(), deny()), deny())
	return when(arg(0).is(0), allow(), reading)
}

// onlySelfRule is for calls whose first argument says what kind of thing the
// second one names. Zero names the caller; groups and users include PID 1.
func onlySelfRule(kind uint32) block {
	return when(arg(0).is(kind), when(arg(1).is(0), allow(), deny()), deny())
}

package seccomp

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

func eachTarget(t *testing.T, f func(t *testing.T, goarch string)) {
	for _, goarch := range []string{"amd64", "arm64"} {
		t.Run(goarch, func(t *testing.T) { f(t, goarch) })
	}
}

// refusedEverywhere holds for every profile, whatever the arguments.
var refusedEverywhere = []string{
	"bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "pidfd_getfd",
	"open_by_handle_at", "name_to_handle_at", "kexec_load", "kexec_file_load",
	"init_module", "finit_module", "delete_module", "create_module", "query_module", "get_kernel_syms",
	"swapon", "swapoff", "reboot", "settimeofday", "clock_settime", "acct", "quotactl", "quotactl_fd",
	"lookup_dcookie", "iopl", "ioperm", "nfsservctl", "syslog", "vhangup", "fanotify_init",
	"mbind", "set_mempolicy", "set_mempolicy_home_node", "move_pages", "migrate_pages",
	"uselib", "_sysctl", "sysfs", "ustat",
}

// refusedByDefault are those that nesting opens.
var refusedByDefault = []string{
	"setns", "mount", "umount2", "pivot_root", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount",
	"open_tree", "open_tree_attr", "mount_setattr", "keyctl", "add_key", "request_key",
	"sethostname", "setdomainname",
}

func TestRefused(t *testing.T) {
	eachTarget(t, func(t *testing.T, goarch string) {
		for _, p := range []Profile{Default, Strict, Nesting} {
			m := newMachine(t, goarch, p, Options{})
			for _, name := range refusedEverywhere {
				expectIfExists(t, m, p, eperm, name)
			}
			for _, name := range refusedByDefault {
				want := eperm
				if p == Nesting {
					want = allowed
				}
				expectIfExists(t, m, p, want, name)
			}
		}
	})
}

func expectIfExists(t *testing.T, m machine, p Profile, want uint32, name string) {
	t.Helper()
	if !exists(name) {
		t.Errorf("no architecture has %s", name)
	}
	if _, ok := m.target.numbers[name]; !ok {
		return
	}
	if got := m.call(t, name); got != want {
		t.Errorf("%s %s: %#x, want %#x", p, name, got, want)
	}
}

func TestAllowed(t *testing.T) {
	names := []string{
		"read", "write", "openat", "openat2", "close", "mmap", "futex", "execve", "execveat", "wait4", "exit_group",
		"seccomp", "prctl", "landlock_create_ruleset", "landlock_restrict_self", "memfd_create", "memfd_secret",
		"pidfd_open", "pidfd_send_signal", "inotify_add_watch", "statx", "rseq", "copy_file_range", "close_range",
		"setuid", "setgroups", "fchownat", "capset", "io_setup", "splice", "fork", "open", "arch_prctl", "kill",
	}
	eachTarget(t, func(t *testing.T, goarch string) {
		for _, p := range []Profile{Default, Strict, Nesting} {
			m := newMachine(t, goarch, p, Options{})
			for _, name := range names {
				expectIfExists(t, m, p, allowed, name)
			}
		}
	})
}

// argumentCases are answers that depend on arguments, or on the profile.
var argumentCases = []struct {
	name                      string
	args                      []uint64
	byDefault, strict, nested uint32
}{
	{"clone", []uint64{unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD)}, allowed, allowed, allowed},
	{"clone", []uint64{0x3d0f00}, allowed, allowed, allowed}, // a thread of glibc
	{"clone", []uint64{unix.CLONE_NEWCGROUP | uint64(unix.SIGCHLD)}, allowed, allowed, allowed},
	{"clone", []uint64{unix.CLONE_NEWUSER}, eperm, eperm, allowed},
	{"clone", []uint64{unix.CLONE_NEWUSER | unix.CLONE_NEWCGROUP}, eperm, eperm, allowed},
	{"clone", []uint64{highBits | unix.CLONE_NEWNS}, eperm, eperm, allowed},
	{"clone", []uint64{unix.CLONE_NEWPID | unix.CLONE_VM}, eperm, eperm, allowed},
	{"clone", []uint64{unix.CLONE_NEWNET}, eperm, eperm, allowed},
	{"clone", []uint64{unix.CLONE_NEWIPC}, eperm, eperm, allowed},
	{"clone", []uint64{unix.CLONE_NEWUTS}, eperm, eperm, allowed},
	{"clone3", nil, enosys, enosys, allowed},
	{"unshare", []uint64{unix.CLONE_NEWCGROUP}, allowed, allowed, allowed},
	{"unshare", []uint64{unix.CLONE_FILES | unix.CLONE_FS}, allowed, allowed, allowed},
	{"unshare", []uint64{unix.CLONE_NEWCGROUP | unix.CLONE_FS}, eperm, eperm, allowed},
	{"unshare", []uint64{unix.CLONE_NEWCGROUP | unix.CLONE_NEWUSER}, eperm, eperm, allowed},
	{"unshare", []uint64{unix.CLONE_NEWUSER}, eperm, eperm, allowed},
	{"unshare", []uint64{highBits | unix.CLONE_NEWUSER}, eperm, eperm, allowed},
	{"unshare", []uint64{unix.CLONE_NEWTIME}, eperm, eperm, allowed},
	{"unshare", []uint64{0x00100000}, eperm, eperm, allowed}, // a flag not known yet
	{"statmount", nil, enosys, enosys, allowed},
	{"listmount", nil, enosys, enosys, allowed},
	{"lsm_get_self_attr", nil, enosys, enosys, enosys},

	{"personality", []uint64{0}, allowed, allowed, allowed},
	{"personality", []uint64{0xffffffff}, allowed, allowed, allowed},
	{"personality", []uint64{0x0040000}, eperm, eperm, eperm}, // ADDR_NO_RANDOMIZE
	{"personality", []uint64{0x0400000}, eperm, eperm, eperm}, // READ_IMPLIES_EXEC
	{"personality", []uint64{0x20008}, allowed, eperm, allowed},
	{"personality", []uint64{0x8}, allowed, eperm, allowed},
	{"personality", []uint64{highBits | 0x0400000}, eperm, eperm, eperm},

	{"socket", []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, allowed, allowed, allowed},
	{"socket", []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, allowed, allowed, allowed},
	{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP}, allowed, allowed, allowed},
	{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, allowed, allowed, allowed},
	{"socket", []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, noProtocol, noProtocol, allowed},
	{"socket", []uint64{unix.AF_INET6, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK, 0}, allowed, allowed, allowed},
	{"socket", []uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, allowed, allowed, allowed},
	{"socket", []uint64{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, eperm, eperm, allowed},
	{"socket", []uint64{unix.AF_INET6, unix.SOCK_RAW | unix.SOCK_CLOEXEC, unix.IPPROTO_ICMPV6}, eperm, eperm, allowed},
	{"socket", []uint64{highBits | unix.AF_INET, highBits | unix.SOCK_RAW, 0}, eperm, eperm, allowed},
	{"socket", []uint64{unix.AF_INET, unix.SOCK_PACKET, 0x300}, eperm, eperm, allowed},
	{"socket", []uint64{unix.AF_UNIX, unix.SOCK_RAW}, eperm, eperm, allowed},
	{"socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW | unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE}, allowed, noFamily, allowed},
	{"socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, noFamily, noFamily, allowed},
	{"socket", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, highBits | unix.NETLINK_NETFILTER}, noFamily, noFamily, allowed},
	{"socket", []uint64{highBits | unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT}, noFamily, noFamily, allowed},
	{"socket", []uint64{unix.AF_PACKET, unix.SOCK_DGRAM}, noFamily, noFamily, allowed},
	{"socket", []uint64{highBits | unix.AF_VSOCK, unix.SOCK_STREAM}, noFamily, noFamily, noFamily},
	{"socket", []uint64{unix.AF_ALG, unix.SOCK_SEQPACKET}, noFamily, noFamily, noFamily},
	{"socket", []uint64{unix.AF_KEY, unix.SOCK_RAW}, noFamily, noFamily, noFamily},
	{"socket", []uint64{unix.AF_TIPC, unix.SOCK_STREAM}, noFamily, noFamily, noFamily},
	{"socketpair", []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, allowed, allowed, allowed},
	{"socketpair", []uint64{unix.AF_INET, unix.SOCK_RAW}, noFamily, noFamily, noFamily},

	{"ioctl", []uint64{0, unix.TCGETS}, allowed, allowed, allowed},
	{"ioctl", []uint64{0, unix.TIOCSTI}, eperm, eperm, eperm},
	{"ioctl", []uint64{0, nonsenseBit | unix.TIOCSTI}, eperm, eperm, eperm},
	{"ioctl", []uint64{0, highBits | unix.TIOCLINUX}, eperm, eperm, eperm},

	{"mknodat", []uint64{0, 0, unix.S_IFIFO | 0o644}, allowed, eperm, allowed},
	{"mknodat", []uint64{0, 0, 0o644}, allowed, eperm, allowed},
	{"mknodat", []uint64{0, 0, unix.S_IFCHR, 0}, eperm, eperm, allowed},
	{"mknodat", []uint64{0, 0, 0x10000 | unix.S_IFBLK | 0o600, 0x801}, eperm, eperm, allowed},
	{"mknodat", []uint64{0, 0, highBits | unix.S_IFCHR | 0o666, 0x103}, eperm, eperm, allowed},

	{"ptrace", nil, allowed, eperm, allowed},
	{"chroot", nil, allowed, eperm, allowed},
	{"vmsplice", nil, allowed, eperm, allowed},
	{"fanotify_mark", nil, allowed, eperm, allowed},

	{"prlimit64", []uint64{0, unix.RLIMIT_NOFILE, 0x7fff00001000, 0}, allowed, allowed, allowed},
	{"prlimit64", []uint64{1, unix.RLIMIT_NOFILE, 0, 0x7fff00001000}, allowed, allowed, allowed},
	{"prlimit64", []uint64{1, unix.RLIMIT_NOFILE, 0x7fff00001000, 0}, eperm, eperm, eperm},
	{"prlimit64", []uint64{1, unix.RLIMIT_NOFILE, 0x700000000000, 0}, eperm, eperm, eperm}, // low half zero
	{"prlimit64", []uint64{nonsenseBit | 7, unix.RLIMIT_NOFILE, 0x1000, 0}, eperm, eperm, eperm},
	{"sched_setscheduler", []uint64{0}, allowed, allowed, allowed},
	{"sched_setscheduler", []uint64{1}, eperm, eperm, eperm},
	{"sched_setparam", []uint64{2}, eperm, eperm, eperm},
	{"sched_setattr", []uint64{1}, eperm, eperm, eperm},
	{"sched_setaffinity", []uint64{7}, allowed, allowed, allowed},
	{"sched_setaffinity", []uint64{nonsenseBit | 1}, eperm, eperm, eperm},
	{"setpriority", []uint64{0, 0, 19}, allowed, allowed, allowed},
	{"setpriority", []uint64{0, 1, 19}, eperm, eperm, eperm},
	{"setpriority", []uint64{2, 0, 19}, eperm, eperm, eperm},
	{"ioprio_set", []uint64{1, 0, 0}, allowed, allowed, allowed},
	{"ioprio_set", []uint64{1, 1, 0}, eperm, eperm, eperm},
	{"ioprio_set", []uint64{3, 0, 0}, eperm, eperm, eperm},
}

func TestArguments(t *testing.T) {
	eachTarget(t, func(t *testing.T, goarch string) {
		byDefault := newMachine(t, goarch, Default, Options{})
		strict := newMachine(t, goarch, Strict, Options{})
		nested := newMachine(t, goarch, Nesting, Options{})
		for _, c := range argumentCases {
			got := []uint32{byDefault.call(t, c.name, c.args...), strict.call(t, c.name, c.args...), nested.call(t, c.name, c.args...)}
			want := []uint32{c.byDefault, c.strict, c.nested}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s %#x: default, strict, nesting %#x, want %#x", c.name, c.args, got, want)
			}
		}
	})
}

func TestOnlyOnX86(t *testing.T) {
	byDefault, strict := newMachine(t, "amd64", Default, Options{}), newMachine(t, "amd64", Strict, Options{})
	if got := byDefault.call(t, "modify_ldt"); got != allowed {
		t.Errorf("default modify_ldt: %#x", got)
	}
	if got := strict.call(t, "modify_ldt"); got != eperm {
		t.Errorf("strict modify_ldt: %#x", got)
	}
	if got := byDefault.call(t, "mknod", 0, unix.S_IFCHR|0o666, 0x103); got != eperm {
		t.Errorf("mknod of a device: %#x", got)
	}
	if got := byDefault.call(t, "mknod", 0, unix.S_IFIFO); got != allowed {
		t.Errorf("mknod of a fifo: %#x", got)
	}
}

func TestRootEmulation(t *testing.T) {
	eachTarget(t, func(t *testing.T, goarch string) {
		m := newMachine(t, goarch, Default, Options{RootEmulation: true})
		for _, name := range []string{
			"chown", "fchown", "lchown", "fchownat", "setgroups", "capset", "setuid", "setgid",
			"setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid",
		} {
			expectIfExists(t, m, Default, pretended, name)
		}
		for _, c := range []struct {
			mode, dev uint64
			want      uint32
		}{
			{unix.S_IFCHR | 0o666, 0x103, pretended},
			{unix.S_IFBLK, 0x801, pretended},
			{unix.S_IFCHR, 0, eperm},
			{unix.S_IFIFO, 0x103, allowed},
		} {
			if got := m.call(t, "mknodat", 0, 0, c.mode, c.dev); got != c.want {
				t.Errorf("mknodat mode %#o dev %#x: %#x, want %#x", c.mode, c.dev, got, c.want)
			}
		}
	})
}

// TestWithout proves that each fence can be taken away alone: the escape tests
// rest on it.
func TestWithout(t *testing.T) {
	eachTarget(t, func(t *testing.T, goarch string) {
		fenced := newMachine(t, goarch, Default, Options{})
		open := newMachine(t, goarch, Default, Options{Without: []string{"keyctl", "ioctl", "clone", "clone3", "mknod"}})
		for _, c := range []struct {
			name string
			args []uint64
		}{
			{"keyctl", nil}, {"ioctl", []uint64{0, unix.TIOCSTI}}, {"clone", []uint64{unix.CLONE_NEWUSER}}, {"clone3", nil},
		} {
			if fenced.call(t, c.name, c.args...) == allowed || open.call(t, c.name, c.args...) != allowed {
				t.Errorf("%s: the fence does not stand, or does not go", c.name)
			}
		}
		for _, name := range []string{"add_key", "unshare", "mount"} {
			if open.call(t, name, unix.CLONE_NEWUSER) != eperm {
				t.Errorf("%s lost its fence along with others", name)
			}
		}
	})
}

func TestRejectsUnknownNames(t *testing.T) {
	if _, err := Compile("lax", Options{}); err == nil {
		t.Error("unknown profile compiled")
	}
	if _, err := Compile("", Options{}); err == nil {
		t.Error("empty profile compiled")
	}
	if _, err := Compile(Default, Options{Without: []string{"keyctrl"}}); err == nil {
		t.Error("misspelt fence accepted")
	}
	if prog, err := Compile(Off, Options{}); err != nil || len(prog) != 0 {
		t.Errorf("off: %d bytes, %v", len(prog), err)
	}
}

// TestPolicyNamesExist catches a misspelt rule, which would otherwise silently
// guard nothing.
func TestPolicyNamesExist(t *testing.T) {
	eachTarget(t, func(t *testing.T, goarch string) {
		tgt, err := targetFor(goarch)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []Profile{Default, Strict, Nesting} {
			pol, err := policyFor(p, Options{RootEmulation: true}, tgt)
			if err != nil {
				t.Fatal(err)
			}
			for name := range pol {
				if !exists(name) {
					t.Errorf("%s names %s, which no architecture has", p, name)
				}
			}
		}
	})
}

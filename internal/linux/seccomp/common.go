package seccomp

// common is what every profile takes away from, or asks of, the container-usual
// set. Calls that set never held (mount, bpf, modules, kexec, keyrings, clocks,
// io_uring, …) need no line here; TestRefused names them all the same.
func common(pol policy) {
	// Reading and steering other processes past ptrace's own checks, and file
	// handles, which name files outside the root (CVE-2014-3519).
	pol.set(deny(),
		"process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
		"kcmp", "pidfd_getfd",
		"name_to_handle_at", "open_by_handle_at",
	)
	// clone3 keeps its flags in memory, where no filter can see them. Callers
	// try it first and fall back to clone, or to /proc, only on ENOSYS.
	pol.set(nosys(),
		"clone3", "statmount", "listmount",
		"lsm_get_self_attr", "lsm_set_self_attr", "lsm_list_modules",
	)

	pol.set(cloneRule(), "clone")
	pol.set(unshareRule(), "unshare")
	pol.set(personalityRule(0, 0x8, 0x20000, 0x20008, 0xffffffff), "personality")
	pol.set(socketRule(netlinkRoute()), "socket")
	pol.set(socketpairRule(), "socketpair")
	pol.set(ioctlRule(), "ioctl")
	pol.set(mknodRule(1), "mknod")
	pol.set(mknodRule(2), "mknodat")

	// PID 1 has the uid of the programs, so the kernel would let them starve it.
	pol.set(prlimitRule(), "prlimit64")
	pol.set(when(arg(0).is(0), allow(), deny()), "sched_setscheduler", "sched_setparam", "sched_setattr")
	pol.set(when(arg(0).is(1), deny(), allow()), "sched_setaffinity")
	pol.set(onlySelfRule(prioProcess), "setpriority")
	pol.set(onlySelfRule(ioprioWhoProcess), "ioprio_set")
}

package escape

// attacks is the table: everything that is tried, by class.
func attacks() []attack {
	return []attack{
		// Runtime
		pid1Exe(), runtimeOverwrite(), runtimeChmod(), leakedDescriptors(), workdirMagicLink(), workdirDescriptor(),
		pid1Look(), pid1Ptrace(), pid1Memory(), pid1Signals(), pid1SignalRace(), killEverything(), pid1Limits(), pid1Starve(),
		pid1Affinity(), pid1OOM(), daemonAutogroup(), forgedExit(), initSocket(), mountTargets(), mountSources(), mountLinks(), maskedWrite(),
		leversHostNetwork(), maskedRead(), floodDaemon(),
		// Kernel surface
		unshareUser(), unshareOther(), unshareCgroup(), cloneUser(), cloneOther(), clone3(), setns(), mountAPI(),
		pivotRoot(), procUncover(), procSys(), bpf(), perf(), keys(), userfaultfd(), ioUring(), kcmp(), pidfdGetfd(),
		nameToHandle(), openByHandle(), initialOnly(), quotactl(), netSysctl(), reboot(), sethostname(), personality(), kernelLog(), x32(),
		foreignABI(), packetSocket(), rawSocket(), netlink(), vsock(), alg(), tiocsti(), chrootTwice(), mknod(),
		ptraceSibling(),
		// Ids
		capabilities(), regainCapability(), noNewPrivs(), setuidBinary(), fileCapabilities(), groups(), hostRoot(),
		bindOwner(), bindSetuid(), volumeOwner(), otherIDs(), otherIDsBind(), hostSecrets(), hostProcesses(),
		// Sockets and IPC
		hostSockets(), bindSocket(), overlaySocket(), repoLocks(), shownSocket(), abstractSocket(), hostLoopback(), interfaces(), anySocket(),
		environment(), hostKeys(), sysvIPC(), posixIPC(), coopHome(), homeInWorkspace(), devices(),
	}
}

package escape

import (
	"os"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func pid1Signals() attack {
	return attack{
		Class: runtimeClass, Name: "pid1-signals",
		Attack: "send PID 1 and each of its threads every signal, by kill, tgkill, rt_sigqueueinfo, pidfd and SIGIO",
		Proves: "no signal from inside ends, stops or confuses PID 1",
		Run: func() error {
			before := startTime(1)
			pidfd, err := unix.PidfdOpen(1, 0)
			if err != nil {
				return err
			}
			for sig := syscall.Signal(1); sig <= 64; sig++ {
				_ = unix.Kill(1, sig)
				_ = unix.PidfdSendSignal(pidfd, sig, nil, 0)
				_ = queue(unix.SYS_RT_SIGQUEUEINFO, sig, 1)
				_ = signalByOwner(sig)
				for _, tid := range initThreads() {
					_ = unix.Tgkill(1, tid, sig)
					_ = queue(unix.SYS_RT_TGSIGQUEUEINFO, sig, 1, uintptr(tid))
				}
			}
			if after := startTime(1); before == "" || after != before {
				return nil
			}
			return nothing("PID 1 is what it was")
		},
		After:  func(t *testing.T, b *box) error { return b.answers(t) },
		Denied: errnos(unix.ENODATA),
		Fence:  []string{"signals"},
		Ends:   true,
	}
}

// queue forges a siginfo; the kernel insists on a negative code.
func queue(number uintptr, sig syscall.Signal, ids ...uintptr) error {
	info := [128]byte{}
	info[0] = byte(sig)
	for i := 8; i < 12; i++ {
		info[i] = 0xff // si_code = SI_QUEUE
	}
	return call(number, append(ids, uintptr(sig), pointer(&info))...)
}

// signalByOwner lets the kernel itself signal PID 1, as the owner of a socket on
// which something arrives (fcntl(2), F_SETOWN and F_SETSIG).
func signalByOwner(sig syscall.Signal) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	for cmd, arg := range map[int]int{unix.F_SETOWN: 1, unix.F_SETSIG: int(sig), unix.F_SETFL: unix.O_ASYNC} {
		if _, err := unix.FcntlInt(uintptr(pair[0]), cmd, arg); err != nil {
			return err
		}
	}
	_, err = unix.Write(pair[1], []byte("x"))
	return err
}

// startTime names a process together with its pid; empty when there is none.
func startTime(pid int) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	f := afterName(string(b))
	if len(f) < 20 {
		return ""
	}
	return f[19]
}

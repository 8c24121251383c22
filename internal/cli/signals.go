package cli

import (
	"os"
	"strings"
	"syscall"
)

// signalNames are the signals of signal(7), as the API writes them.
func signalNames() map[syscall.Signal]string {
	return map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
		syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
		syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1", syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2",
		syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM", syscall.SIGXCPU: "SIGXCPU",
		syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGVTALRM: "SIGVTALRM", syscall.SIGPROF: "SIGPROF", syscall.SIGIO: "SIGIO",
		syscall.SIGPWR: "SIGPWR", syscall.SIGSYS: "SIGSYS", syscall.SIGSTKFLT: "SIGSTKFLT",
	}
}

func signalName(s os.Signal) string {
	number, _ := s.(syscall.Signal) // every os.Signal is one on unix
	return signalNames()[number]
}

// signalNumber is 0 for a name it does not know; the daemon's exit code holds
// the number then.
func signalNumber(name string) int {
	for number, known := range signalNames() {
		if name == known || name == strings.TrimPrefix(known, "SIG") {
			return int(number)
		}
	}
	return 0
}

package tty

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// signalForeground sends a signal to what the shell of the window runs now.
func (w *window) signalForeground(sig syscall.Signal) {
	w.t.Helper()
	shell := strings.TrimSpace(w.tmux("display-message", "-p", "#{pane_pid}"))
	pid, err := strconv.Atoi(shell)
	if err != nil {
		w.t.Fatal(err)
	}
	group, err := foregroundGroup(pid)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := syscall.Kill(-group, sig); err != nil {
		w.t.Fatal(err)
	}
}

// foregroundGroup is the eighth field of proc_pid_stat(5).
func foregroundGroup(pid int) (int, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 6 {
		return 0, fmt.Errorf("stat of %d: %q", pid, data)
	}
	return strconv.Atoi(fields[5])
}

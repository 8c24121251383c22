package pid1

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
)

const (
	maxProcesses = 4096
	maxCmdline   = 256
	clockTicks   = 100 // USER_HZ is 100 on every Linux user space
)

// processes describes what runs here.
func (in *Init) processes() []initproto.Process {
	in.mu.Lock()
	owner, hidden := make(map[int]string, len(in.pids)), map[int]bool{}
	for pid, e := range in.pids {
		owner[pid] = e.id
		hidden[pid] = !e.used()
	}
	in.mu.Unlock()
	now := bootTimeMs()
	var list []initproto.Process
	for _, pid := range processIDs() {
		p, ok := describe(pid, now)
		if !ok || hidden[pid] || len(list) == maxProcesses {
			continue
		}
		p.Exec = owner[pid]
		list = append(list, p)
	}
	return list
}

func bootTimeMs() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return 0
	}
	return ts.Nano() / 1e6
}

// describe reads /proc/PID/stat: "pid (comm) state ppid …". comm may hold
// anything, also parentheses, so fields count from the last one.
func describe(pid int, now int64) (initproto.Process, bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	i := bytes.LastIndexByte(stat, ')')
	if err != nil || i < 0 {
		return initproto.Process{}, false
	}
	f := strings.Fields(string(stat[i+1:]))
	if len(f) < 22 {
		return initproto.Process{}, false
	}
	num := func(n int) int64 { v, _ := strconv.ParseInt(f[n], 10, 64); return v } // the kernel wrote it
	p := initproto.Process{
		PID: pid, State: f[0], PPID: int(num(1)),
		CPUMs: (num(11) + num(12)) * 1000 / clockTicks,
		RSS:   num(21) * int64(os.Getpagesize()),
		AgeMs: max(0, now-num(19)*1000/clockTicks),
	}
	var st unix.Stat_t
	if unix.Stat(dir, &st) == nil {
		p.UID = int(st.Uid)
	}
	p.Command = cmdline(dir, string(stat[bytes.IndexByte(stat, '(')+1:i]))
	return p, true
}

func cmdline(dir, comm string) string {
	b, err := os.ReadFile(dir + "/cmdline")
	b = bytes.TrimRight(b, "\x00")
	if err != nil || len(b) == 0 {
		return "[" + comm + "]"
	}
	if len(b) > maxCmdline {
		b = b[:maxCmdline]
	}
	return strings.ToValidUTF8(strings.ReplaceAll(string(b), "\x00", " "), "\uFFFD")
}

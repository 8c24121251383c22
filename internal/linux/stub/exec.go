package stub

import (
	"encoding/binary"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Exec is what a stub shall become: a program of the user it runs as. Files are
// the places to look for it, in order, and the first that is there is executed.
// If that fails, or none is there, the stub gives up: to find out why is left to
// whoever can afford it.
type Exec struct {
	Dir   string // magic links on the way are refused (CVE-2024-21626)
	Files []string
	Argv  []string
	Env   []string
}

// Message is the request as a stub reads it: calls, then what their arguments
// point to. It reports false for what a stub has no room for, and for strings
// the kernel would cut off at a NUL.
func (x Exec) Message() ([]byte, bool) {
	l, ok := x.layout()
	if !ok {
		return nil, false
	}
	le := binary.LittleEndian
	b := encode(x.calls(l), l.size)
	for _, v := range [...]uint64{unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, 0, unix.RESOLVE_NO_MAGICLINKS} {
		b = le.AppendUint64(b, v) // struct open_how
	}
	at := l.text
	for _, list := range [...][]string{x.Argv, x.Env} {
		for _, s := range list {
			b = le.AppendUint64(b, at)
			at += uint64(len(s)) + 1
		}
		b = le.AppendUint64(b, 0)
	}
	for _, list := range x.texts() {
		for _, s := range list {
			b = append(append(b, s...), 0)
		}
	}
	return b, true
}

// texts is the order strings are laid out in.
func (x Exec) texts() [4][]string { return [4][]string{x.Argv, x.Env, {x.Dir}, x.Files} }

// layout holds the addresses of what calls point to.
type layout struct {
	how, argv, env, text, dir, files uint64
	size                             int
}

func (x Exec) layout() (l layout, ok bool) {
	l.how = entry + uint64(x.countCalls())*callSize
	l.argv = l.how + unix.SizeofOpenHow
	l.env = l.argv + uint64(len(x.Argv)+1)*8
	l.text = l.env + uint64(len(x.Env)+1)*8
	at := l.text
	for i, list := range x.texts() {
		switch i {
		case 2:
			l.dir = at
		case 3:
			l.files = at
		}
		if slices.ContainsFunc(list, func(s string) bool { return strings.IndexByte(s, 0) >= 0 }) {
			return l, false
		}
		for _, s := range list {
			at += uint64(len(s)) + 1
		}
	}
	l.size = int(at - entry)
	return l, l.size <= maxMessage
}

// countCalls is how many calls there will be: two for the directory, two for
// each file, but one for the last, and one to fail at if there is no file.
func (x Exec) countCalls() int {
	if len(x.Files) == 0 {
		return 3
	}
	return 2 + 2*len(x.Files) - 1
}

// calls goes to the directory and executes the first file there is. The last one
// is executed whether it is there or not.
func (x Exec) calls(l layout) []call {
	list := make([]call, 0, x.countCalls())
	list = append(list,
		call{number: unix.SYS_OPENAT2, args: [6]uint64{atCwd, l.dir, l.how, unix.SizeofOpenHow}},
		call{number: unix.SYS_FCHDIR, args: [6]uint64{opened}})
	file := l.files
	for i, f := range x.Files {
		if i < len(x.Files)-1 {
			list = append(list, call{number: unix.SYS_FACCESSAT, args: [6]uint64{atCwd, file, unix.F_OK}, onward: 2})
		}
		list = append(list, call{number: unix.SYS_EXECVE, args: [6]uint64{file, l.argv, l.env}})
		file += uint64(len(f)) + 1
	}
	if len(x.Files) == 0 {
		list = append(list, call{number: unix.SYS_CLOSE, args: [6]uint64{^uint64(0)}}) // EBADF
	}
	return list
}

// atCwd is AT_FDCWD as a register holds it.
const atCwd = ^uint64(0) - 99

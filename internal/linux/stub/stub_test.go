package stub

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/memfd"
)

// waiting is a stub and our ends of what it holds.
type waiting struct {
	pid                  int
	talk, report, output *os.File
}

func start(t *testing.T) *waiting {
	t.Helper()
	if !Supported {
		t.Skip("no stub for this machine")
	}
	program, err := memfd.Program(Name, Image())
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	report, reportEnd := pipe(t)
	output, outputEnd := pipe(t)
	w := &waiting{talk: os.NewFile(uintptr(pair[0]), "talk"), report: report, output: output}
	out := outputEnd.Fd()
	w.pid, err = syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(int(program.Fd())), []string{Name}, &syscall.ProcAttr{
		Files: []uintptr{null.Fd(), out, out, Channel: uintptr(pair[1]), Report: reportEnd.Fd()},
	})
	unix.Close(pair[1])
	reportEnd.Close()
	outputEnd.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range []*os.File{w.talk, w.report, w.output} {
			f.Close()
		}
	})
	return w
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

func (w *waiting) tell(t *testing.T, x Exec) {
	t.Helper()
	m, ok := x.Message()
	if !ok {
		t.Fatalf("no room for %+v", x)
	}
	if _, err := w.talk.Write(m); err != nil {
		t.Fatal(err)
	}
}

// end gives what a stub said, what its program wrote, and how it ended.
func (w *waiting) end(t *testing.T) (report []byte, output string, ws syscall.WaitStatus) {
	t.Helper()
	report, err := io.ReadAll(w.report)
	if err != nil {
		t.Error(err)
	}
	out, err := io.ReadAll(w.output)
	if err != nil {
		t.Error(err)
	}
	if _, err := syscall.Wait4(w.pid, &ws, 0, nil); err != nil {
		t.Error(err)
	}
	return report, string(out), ws
}

func TestBecomesAProgram(t *testing.T) {
	w := start(t)
	w.tell(t, Exec{
		Dir: "/usr", Files: []string{"/no/such/sh", "/proc/self/nothing", "/bin/sh"},
		Argv: []string{"sh", "-c", `pwd; echo "$A $B $#"; ls /proc/self/fd; exit 7`, "sh", "one", ""}, Env: []string{"A=1", "B=", "PATH=/usr/bin:/bin"},
	})
	report, output, ws := w.end(t)
	if len(report) != 0 || ws.ExitStatus() != 7 {
		t.Errorf("report %x, status %d", report, ws.ExitStatus())
	}
	lines := strings.Split(output, "\n")
	if len(lines) < 2 || lines[0] != "/usr" || lines[1] != "1  2" {
		t.Errorf("%q", output)
	}
	for _, fd := range lines[2:] { // ls has its directory open, and shells keep one above 9
		if n, err := strconv.Atoi(fd); err == nil && n > 3 && n < 10 {
			t.Errorf("descriptor %d reached the program", n)
		}
	}
}

func TestSaysWhatFailed(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	orphan := filepath.Join(dir, "orphan")
	if err := os.WriteFile(orphan, []byte("#!/no/such/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		x      Exec
		number uint64
		errno  syscall.Errno
	}{
		"no directory":   {Exec{Dir: "/no/such", Files: []string{"/bin/true"}}, unix.SYS_OPENAT2, syscall.ENOENT},
		"a file for one": {Exec{Dir: plain, Files: []string{"/bin/true"}}, unix.SYS_OPENAT2, syscall.ENOTDIR},
		"a magic link":   {Exec{Dir: "/proc/self/fd/3", Files: []string{"/bin/true"}}, unix.SYS_OPENAT2, syscall.ELOOP},
		"no program":     {Exec{Dir: "/", Files: []string{"/no/such/a", "/no/such/b"}}, unix.SYS_EXECVE, syscall.ENOENT},
		"no place":       {Exec{Dir: "/"}, unix.SYS_CLOSE, syscall.EBADF},
		"not executable": {Exec{Dir: "/", Files: []string{plain, "/bin/true"}}, unix.SYS_EXECVE, syscall.EACCES},
		"no interpreter": {Exec{Dir: "/", Files: []string{orphan, "/bin/true"}}, unix.SYS_EXECVE, syscall.ENOENT},
		"a directory":    {Exec{Dir: "/", Files: []string{"/usr"}}, unix.SYS_EXECVE, syscall.EACCES},
	} {
		c.x.Argv = []string{"x"}
		w := start(t)
		w.tell(t, c.x)
		report, output, ws := w.end(t)
		if len(report) != callSize || output != "" || ws.ExitStatus() != failed {
			t.Errorf("%s: report %x, output %q, status %d", name, report, output, ws.ExitStatus())
			continue
		}
		number, errno := binary.LittleEndian.Uint64(report), binary.LittleEndian.Uint64(report[callSize-8:])
		if number != c.number || syscall.Errno(errno) != c.errno {
			t.Errorf("%s: call %d, %v; want %d, %v", name, number, syscall.Errno(errno), c.number, c.errno)
		}
	}
}

// TestRefuses: what does not fit is never sent.
func TestRefuses(t *testing.T) {
	for name, x := range map[string]Exec{
		"large":              {Dir: "/", Files: []string{"/bin/true"}, Argv: []string{"true"}, Env: []string{"A=" + strings.Repeat("x", maxMessage)}},
		"many":               {Dir: "/", Files: []string{"/bin/true"}, Argv: make([]string, maxMessage/8)},
		"NUL in a directory": {Dir: "/\x00", Files: []string{"/bin/true"}, Argv: []string{"true"}},
		"NUL in a file":      {Dir: "/", Files: []string{"/bin/true\x00"}, Argv: []string{"true"}},
		"NUL in an argument": {Dir: "/", Files: []string{"/bin/true"}, Argv: []string{"true", "a\x00b"}},
		"NUL in a variable":  {Dir: "/", Files: []string{"/bin/true"}, Argv: []string{"true"}, Env: []string{"A=\x00"}},
	} {
		if _, ok := x.Message(); ok {
			t.Errorf("%s: there is room", name)
		}
	}
}

// TestTheLargestFits: and arrives whole.
func TestTheLargestFits(t *testing.T) {
	x := Exec{Dir: "/", Files: []string{"/bin/sh"}, Argv: []string{"sh", "-c", "echo ${#A}"}, Env: []string{"A="}}
	l, _ := x.layout()
	x.Env[0] += strings.Repeat("x", maxMessage-l.size)
	m, ok := x.Message()
	if !ok || len(m) != maxMessage {
		t.Fatalf("%v, %d bytes", ok, len(m))
	}
	w := start(t)
	w.tell(t, x)
	if _, output, _ := w.end(t); output != strconv.Itoa(maxMessage-l.size)+"\n" {
		t.Errorf("%q", output)
	}
	x.Env[0] += "x"
	if _, ok := x.Message(); ok {
		t.Error("one byte more fits too")
	}
}

// TestEndsWithItsDaemon: nobody will tell it anything any more.
func TestEndsWithItsDaemon(t *testing.T) {
	w := start(t)
	w.talk.Close()
	if report, _, ws := w.end(t); len(report) != 0 || ws.ExitStatus() != failed {
		t.Errorf("report %x, status %d", report, ws.ExitStatus())
	}
}

// TestIsClosed: nobody of the same user may look into a stub that waits. It is
// ready once its name is set, which the call after prctl(PR_SET_DUMPABLE) does.
func TestIsClosed(t *testing.T) {
	w := start(t)
	dir := "/proc/" + strconv.Itoa(w.pid)
	for {
		comm, err := os.ReadFile(dir + "/comm")
		if err != nil {
			t.Fatal(err)
		}
		if string(comm) == Name+"\n" {
			break
		}
	}
	if st, err := os.Stat(dir + "/mem"); err != nil || st.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Error("its files are not root's:", err)
	}
	if os.Getuid() != 0 {
		if f, err := os.Open(dir + "/mem"); !errors.Is(err, os.ErrPermission) {
			f.Close()
			t.Error("its memory can be read")
		}
		if err := unix.PtraceSeize(w.pid); err == nil {
			t.Error("it can be traced")
		}
	}
	w.talk.Close()
	w.end(t)
}

// TestImageIsSound: as a tool reads it.
func TestImageIsSound(t *testing.T) {
	if !Supported {
		t.Skip("no stub for this machine")
	}
	b := Image()
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > filePage || len(f.Progs) != segments || f.Type != elf.ET_EXEC {
		t.Errorf("%d bytes, %d segments, %v", len(b), len(f.Progs), f.Type)
	}
	for _, p := range f.Progs {
		if p.Flags&elf.PF_W != 0 && p.Flags&elf.PF_X != 0 {
			t.Errorf("%+v can be written and executed", p.ProgHeader)
		}
		if p.Type == elf.PT_LOAD && p.Off%filePage != p.Vaddr%filePage {
			t.Errorf("%+v cannot be mapped", p.ProgHeader)
		}
	}
	if n := len(text()); n == 0 || n > maxCode/2 {
		t.Errorf("%d bytes of code", n)
	}
}

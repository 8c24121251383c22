package pid1

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDescribeOurselves(t *testing.T) {
	now := bootTimeMs()
	p, ok := describe(os.Getpid(), now)
	if !ok {
		t.Fatal("we are not there")
	}
	if p.PID != os.Getpid() || p.PPID != os.Getppid() || p.UID != os.Geteuid() || p.RSS < 1<<20 || p.AgeMs < 0 || p.AgeMs > now {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(p.Command, filepath.Base(os.Args[0])) {
		t.Errorf("command %q", p.Command)
	}
	if p, ok := describe(1<<30, now); ok {
		t.Errorf("nobody is %+v", p)
	}
}

// TestDescribeAHostileName: a process may call itself anything.
func TestDescribeAHostileName(t *testing.T) {
	name := filepath.Join(t.TempDir(), ") R 0 0 (")
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(cat, name); err != nil {
		t.Fatal(err)
	}
	cmd := &exec.Cmd{Path: name, Args: []string{"cat", "-", "\xff\xfe\n", strings.Repeat("ä", 300)}}
	cmd.Args = []string{"cat", "-", "--", "\xff\n-"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = cmd.Wait() // cat complains of the file that is not there
	}()
	// Start returns before the kernel has put the arguments in place; an echo
	// shows that the program runs.
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	p, ok := describe(cmd.Process.Pid, bootTimeMs())
	if !ok || p.PPID != os.Getpid() || p.PID != cmd.Process.Pid {
		t.Errorf("%+v, %v", p, ok)
	}
	if !utf8.ValidString(p.Command) || strings.ContainsRune(p.Command, 0) || !strings.HasPrefix(p.Command, "cat - -- ") {
		t.Errorf("command %q", p.Command)
	}
}

func TestCmdline(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "[name]",
		"\x00\x00":                      "[name]",
		"sh\x00-c\x00echo a b\x00":      "sh -c echo a b",
		"sh\x00\x00x\x00":               "sh  x",
		"a\xffb\x00":                    "a\uFFFDb",
		strings.Repeat("x", 1000):       strings.Repeat("x", maxCmdline),
		strings.Repeat("ä", maxCmdline): strings.Repeat("ä", maxCmdline/2),
	} {
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/cmdline", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := cmdline(dir, "name"); got != want {
			t.Errorf("%.20q: %.40q", text, got)
		}
	}
	if got := cmdline(t.TempDir(), "gone"); got != "[gone]" {
		t.Errorf("a process that has gone: %q", got)
	}
}

func TestProcessIDs(t *testing.T) {
	pids := processIDs()
	if !slices.Contains(pids, os.Getpid()) || slices.Contains(pids, 1) || slices.Contains(pids, 0) {
		t.Errorf("%v", pids)
	}
}

// TestProcessesKnowTheirExec: what a daemon started is told apart from the rest.
func TestProcessesKnowTheirExec(t *testing.T) {
	cmd := exec.Command("/bin/cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = io.Discard
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = cmd.Wait() // it ends with its input
	}()
	i := &Init{pids: map[int]*execution{cmd.Process.Pid: {id: "e1"}}}
	found := map[string]int{}
	for _, p := range i.processes() {
		found[p.Exec]++
		if (p.PID == cmd.Process.Pid) != (p.Exec == "e1") {
			t.Errorf("%+v", p)
		}
	}
	if found["e1"] != 1 || found[""] == 0 {
		t.Errorf("%v", found)
	}
}

func TestTaggedFindsOurs(t *testing.T) {
	tag, err := readLink("/proc/self/ns/cgroup")
	if err != nil {
		t.Skipf("needs cgroup namespaces: %v", err)
	}
	before := fds(t)
	if found, _ := tagged(tag + "x"); len(found) != 0 {
		t.Errorf("%d processes of nobody", len(found))
	}
	if after := fds(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	killTree(tag + "x") // nobody: returns at once and kills nobody
	if _, err := readLink("/proc/self/ns/none"); err == nil {
		t.Error("a link that is not there")
	}
}

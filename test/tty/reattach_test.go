package tty

import (
	"crypto/md5"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/test/harness"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == beProgram {
		os.Exit(program())
	}
	os.Exit(harness.Main(m, harness.Options{}))
}

// desk is a window in a project that has a sandbox.
type desk struct {
	*window
	home harness.Instance
	box  string
}

func newDesk(t *testing.T, home harness.Instance) *desk {
	t.Helper()
	dir := harness.Project(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, self, filepath.Join(dir, "program"))
	box := home.Create(t, "--workspace", dir)
	return &desk{newWindow(t, dir, home), home, box}
}

// reference is the program in the same terminal without coop.
func (d *desk) reference(t *testing.T) state {
	t.Helper()
	d.line("./program " + beProgram)
	d.awaitText("READY")
	var s state
	d.await("the cursor's place", func() bool { s = d.state(); return strings.HasPrefix(s.modes, "cursor 7,5 ") })
	d.keys("m")
	d.awaitText("MAIN")
	d.keys("q")
	d.awaitPrompt()
	d.clear()
	return s
}

// start runs a command on a terminal of the sandbox; it is terminal 1.
func (d *desk) start(command string) { d.line("coop exec -t -s " + d.box + " -- " + command) }

func (d *desk) comeBack() {
	d.t.Helper()
	d.clear()
	d.line("coop terminal attach 1 -s " + d.box)
}

// Every mode: what a person sees through coop is what they would see without
// it, and what they see again when they come back. The alternate screen was
// entered more than a megabyte of output ago.
func TestEveryMode(t *testing.T) {
	d := newDesk(t, harness.Shared())
	want := d.reference(t)
	d.start("/workspace/program " + beProgram)
	d.awaitText("READY")
	d.awaitState(want)

	for range 3 {
		d.detach()
		d.comeBack()
		d.awaitState(want)
	}
	if title := strings.TrimSpace(d.tmux("display-message", "-p", "#{pane_title}")); title == "" {
		t.Error("no title")
	}

	// tmux brackets a paste only if the terminal was told to.
	d.keys("p")
	d.tmux("set-buffer", "a\x1db") // the detach key in it is text
	d.tmux("paste-buffer", "-p")
	d.awaitText(`"\x1b[200~a\x1db\x1b[201~"`)

	// The main screen is still under it.
	d.keys("m")
	d.awaitText("MAIN")
	under := d.state()
	if !strings.Contains(under.cells, "main line 39") {
		t.Errorf("the main screen is lost:\n%s", under.cells)
	}
	d.detach()
	d.comeBack()
	d.awaitState(under)
	d.keys("q")
	d.awaitPrompt()
	d.line("echo status $?")
	d.awaitText("status 7")
}

// awaitDaemon waits for another daemon than the one with that pid. The file is
// empty for a moment while it is written.
func (d *desk) awaitDaemon(old int) {
	d.t.Helper()
	d.await("another daemon", func() bool {
		data, err := os.ReadFile(filepath.Join(d.home.Dir, "daemon.pid"))
		pid := strings.TrimSpace(string(data))
		return err == nil && pid != "" && pid != strconv.Itoa(old)
	})
}

// kill -9 of the daemon under a view: it is back by itself, as it was.
func TestDaemonKilledUnderAView(t *testing.T) {
	home := harness.Private(t)
	d := newDesk(t, home)
	want := d.reference(t)
	d.start("/workspace/program " + beProgram)
	d.awaitText("READY")
	d.awaitState(want)
	for range 3 {
		pid := home.DaemonPID(t)
		home.KillDaemon(t)
		d.awaitDaemon(pid)
		d.awaitState(want)
	}
	d.keys("m") // and it still takes keys
	d.awaitText("MAIN")
	d.detach()
}

// A hand-over is the same.
func TestHandOverUnderAView(t *testing.T) {
	home := harness.Private(t)
	d := newDesk(t, home)
	want := d.reference(t)
	d.start("/workspace/program " + beProgram)
	d.awaitText("READY")
	d.awaitState(want)
	pid := home.DaemonPID(t)
	if r := home.Coop(t, "shutdown", "--keep"); r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	d.awaitDaemon(pid)
	d.awaitState(want)
	d.detach()
}

// Stopped by its shell and brought back.
func TestSuspendInAShell(t *testing.T) {
	d := newDesk(t, harness.Shared())
	want := d.reference(t)
	d.start("/workspace/program " + beProgram)
	d.awaitText("READY")
	d.awaitState(want)
	d.signalForeground(syscall.SIGTSTP)
	d.awaitText("Stopped")
	d.awaitPrompt()
	d.line("fg")
	d.awaitState(want)
	d.detach()
}

func TestVim(t *testing.T) {
	harness.NeedProgram(t, "vim")
	d := newDesk(t, harness.Shared())
	d.start("vim -u NONE -i NONE -n -N +'syntax on' +'set ruler number mouse=a' main.go")
	d.awaitText("package main")
	d.line(":echo 'drawn' | redraw! | echo 'drawn'")
	d.awaitText("drawn")
	d.keys("G", "x", "O")
	d.tmux("send-keys", "-l", "typed here")
	d.keys("Escape", "g", "g")
	d.await("the cursor at the top", func() bool {
		return strings.Contains(d.text(), "typed here") && strings.Contains(d.state().modes, "cursor 4,0 ")
	})
	want := d.state()
	d.detach()
	d.comeBack()
	d.awaitState(want)
	d.line(":q!")
	d.awaitPrompt()
}

func TestLess(t *testing.T) {
	harness.NeedProgram(t, "less")
	d := newDesk(t, harness.Shared())
	d.start("sh -c 'seq 1 100000 >/tmp/numbers; less /tmp/numbers'")
	d.awaitText("/tmp/numbers")
	d.tmux("send-keys", "-l", "77777G")
	d.awaitText("77777\n77778")
	d.keys("k")
	var want state
	d.await("one line up", func() bool {
		want = d.state()
		return strings.HasPrefix(want.cells, "77776") && strings.HasPrefix(want.modes, "cursor 1,29 ")
	})
	d.detach()
	d.comeBack()
	d.awaitState(want)
	d.keys("j")
	d.keys("q")
	d.awaitPrompt()
}

func TestHtop(t *testing.T) {
	harness.NeedProgram(t, "htop")
	d := newDesk(t, harness.Shared())
	d.start("htop --delay=1000") // tenths of a second: it stands still
	d.awaitText("F10")
	var want state
	d.await("all of it", func() bool { want = d.state(); return strings.Contains(want.modes, "shown 0 ") })
	d.detach()
	d.comeBack()
	d.awaitState(want)
	d.keys("q")
	d.awaitPrompt()
}

func TestResizedWindow(t *testing.T) {
	d := newDesk(t, harness.Shared())
	d.line("coop shell " + d.box)
	d.awaitText("#")
	d.tmux("resize-window", "-x", "90", "-y", "20")
	d.line(`until [ "$(stty size)" = "20 90" ]; do :; done; echo fol"lowed"`)
	d.awaitText("followed")
	d.keys("C-d")
	d.await("a prompt", func() bool { return strings.HasSuffix(strings.TrimSpace(d.text()), prompt) })
}

// The key works under a program that prints as fast as it can.
func TestDetachUnderAFlood(t *testing.T) {
	d := newDesk(t, harness.Shared())
	d.start("yes flood")
	d.awaitText("flood\nflood")
	d.detach()
	d.comeBack()
	d.awaitText("flood\nflood")
	d.keys("C-c")
	d.awaitPrompt()
}

// A large paste arrives whole.
func TestPaste(t *testing.T) {
	const size = 300_000
	d := newDesk(t, harness.Shared())
	text := strings.Repeat("0123456789abcdef", size/16)
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start(fmt.Sprintf(`sh -c 'stty raw -echo; echo rea"dy"; head -c %d | md5sum; stty sane'`, size))
	d.awaitText("ready")
	d.tmux("load-buffer", file)
	d.tmux("paste-buffer")
	d.awaitText(fmt.Sprintf("%x", md5.Sum([]byte(text))))
	d.awaitPrompt()
}

// The same terminal in two windows: both show it, and the keys of both count.
func TestTwoWindows(t *testing.T) {
	d := newDesk(t, harness.Shared())
	d.start("cat")
	second := newWindow(t, harness.Project(t), d.home)
	d.line("from the first")
	d.awaitText("from the first\nfrom the first")
	second.line("coop terminal attach 1 -s " + d.box)
	second.awaitText("from the first\nfrom the first")
	second.line("from the second")
	d.awaitText("from the second\nfrom the second")
	second.detach()
	d.keys("C-d")
	d.awaitPrompt()
}

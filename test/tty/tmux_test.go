package tty

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coop-dev/coop/test/harness"
)

const (
	width, height = 100, 30
	deadline      = time.Minute
)

// window is a terminal with a shell in it, and eyes on it.
type window struct {
	t      *testing.T
	socket string
	output chan struct{} // holds a token when something was written
}

// newWindow opens a terminal in a directory. Its shell has job control, a
// prompt that is easy to find, and the coop under test in its PATH.
func newWindow(t *testing.T, dir string, home harness.Instance) *window {
	t.Helper()
	harness.NeedProgram(t, "tmux")
	harness.NeedProgram(t, "bash")
	tmp, err := os.MkdirTemp("/tmp", "tty") // short: it holds a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	if err := os.Symlink(harness.Bin(), filepath.Join(tmp, "coop")); err != nil {
		t.Fatal(err)
	}
	w := &window{t: t, socket: filepath.Join(tmp, "s"), output: make(chan struct{}, 1)}
	shell := []string{"env", "-i", "PATH=" + tmp + ":/usr/bin:/bin", "TERM=screen-256color", "LANG=C.UTF-8", "COLORTERM=truecolor", "HOME=" + tmp, "COOP_HOME=" + home.Dir, "PS1=" + prompt, "bash", "--norc", "--noprofile", "-i"}
	args := append([]string{"new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), "-c", dir}, quote(shell))
	w.tmux(append([]string{"-f", "/dev/null"}, args...)...)
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", w.socket, "kill-server").Run() }) // it may have ended by itself
	w.tmux("set-option", "-g", "status", "off")
	w.tmux("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
	w.watch()
	w.awaitText(prompt)
	return w
}

// prompt has no space at its end: a screen's lines are compared without.
const prompt = "prompt>"

func quote(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// tmux runs one command of it.
func (w *window) tmux(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("tmux", append([]string{"-S", w.socket}, args...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TERM=xterm-256color"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// watch reads tmux's own account of what happens.
func (w *window) watch() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "tmux", "-S", w.socket, "-C", "attach-session", "-f", "ignore-size")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "TERM=xterm-256color"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	in, err := cmd.StdinPipe() // it ends with its input
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if strings.HasPrefix(line, "%") {
				select {
				case w.output <- struct{}{}:
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	w.t.Cleanup(func() {
		cancel()
		in.Close()
		<-done
		_ = cmd.Wait() // it was killed
	})
}

// keys types; names are tmux's, as "Enter" and "C-]".
func (w *window) keys(names ...string) {
	w.t.Helper()
	w.tmux(append([]string{"send-keys"}, names...)...)
}

// line types a line.
func (w *window) line(text string) {
	w.t.Helper()
	w.tmux("send-keys", "-l", text)
	w.keys("Enter")
}

// state is everything tmux knows of what is shown: each cell with its colours,
// the cursor, and the modes.
type state struct {
	cells string
	modes string
}

// modeFormat are the modes tmux can tell of. Bracketed paste is none of them:
// see TestEveryMode for how that one is seen.
const modeFormat = "cursor #{cursor_x},#{cursor_y} shown #{cursor_flag} alternate #{alternate_on} keypad #{keypad_flag} cursor-keys #{keypad_cursor_flag} " +
	"mouse #{mouse_standard_flag}#{mouse_button_flag}#{mouse_all_flag} sgr #{mouse_sgr_flag} origin #{origin_flag} insert #{insert_flag} wrap #{wrap_flag} region #{scroll_region_upper}-#{scroll_region_lower}"

func (w *window) state() state {
	w.t.Helper()
	return state{
		cells: w.tmux("capture-pane", "-p", "-e", "-N"),
		modes: strings.TrimSpace(w.tmux("display-message", "-p", modeFormat)),
	}
}

// text is the screen without colours.
func (w *window) text() string { return w.tmux("capture-pane", "-p") }

// await looks until ok, each time something was written.
func (w *window) await(what string, ok func() bool) {
	w.t.Helper()
	late := time.After(deadline)
	for !ok() {
		select {
		case <-w.output:
		case <-late:
			w.t.Fatalf("%s did not come; the screen is\n%s\n%s", what, w.text(), w.state().modes)
		}
	}
}

func (w *window) awaitText(text string) {
	w.t.Helper()
	w.await(fmt.Sprintf("%q", text), func() bool { return strings.Contains(w.text(), text) })
}

// awaitState waits until the screen is as it was; a difference that stays is
// shown line by line.
func (w *window) awaitState(want state) {
	w.t.Helper()
	late := time.After(deadline)
	for {
		got := w.state()
		diff := difference(want, got)
		if diff == "" {
			return
		}
		select {
		case <-w.output:
		case <-late:
			w.t.Fatalf("the screen is not as it was:\n%s", diff)
		}
	}
}

// difference tells, cell by cell, what is not the same; nothing if all is.
func difference(want, got state) string {
	var b strings.Builder
	if want.modes != got.modes {
		fmt.Fprintf(&b, "modes were %s\n       are %s\n", want.modes, got.modes)
	}
	was, is := parseCells(want.cells), parseCells(got.cells)
	if len(was) != len(is) {
		fmt.Fprintf(&b, "%d lines were, %d are\n", len(was), len(is))
		return b.String()
	}
	for i := range was {
		if len(was[i]) != len(is[i]) {
			fmt.Fprintf(&b, "line %d had %d cells, has %d\n", i, len(was[i]), len(is[i]))
		}
		for j := range min(len(was[i]), len(is[i])) {
			if was[i][j] != is[i][j] {
				fmt.Fprintf(&b, "line %d cell %d was %+v\n           is %+v\n", i, j, was[i][j], is[i][j])
			}
		}
	}
	return b.String()
}

// detach leaves by the key and waits for the shell.
func (w *window) detach() {
	w.t.Helper()
	w.keys("C-]")
	w.awaitText("coop: detached from terminal")
	w.awaitPrompt()
}

// awaitPrompt waits until the shell is the last thing on the screen, with the
// terminal as a shell has it.
func (w *window) awaitPrompt() {
	w.t.Helper()
	w.await("a prompt", func() bool { return strings.HasSuffix(strings.TrimSpace(w.text()), prompt) })
	const plain = "shown 1 alternate 0 keypad 0 cursor-keys 0 mouse 000 sgr 0 origin 0 insert 0 wrap 1 region 0-29"
	if modes := w.state().modes; !strings.HasSuffix(modes, plain) {
		w.t.Errorf("modes were left on: %s", modes)
	}
}

// clear empties the screen, so that nothing of it can be taken for what comes.
func (w *window) clear() {
	w.t.Helper()
	w.line("clear")
	w.await("an empty screen", func() bool { return strings.TrimSpace(w.text()) == prompt })
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

package screen

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// These tests show real programs' output to tmux and to Screen and compare.

// need finds a program; where tests must be complete its absence is a failure.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			if os.Getenv("CI") == "true" {
				t.Fatalf("%s is not installed", p)
			}
			t.Skipf("%s is not installed", p)
		}
	}
}

// record runs a program on a terminal of 80x24 with the keys typed ahead and
// returns its output. script(1) provides the terminal.
func record(t *testing.T, keys string, command ...string) []byte {
	t.Helper()
	cmd := exec.Command("script", "-qc", "stty rows 24 cols 80; "+strings.Join(command, " "), "/dev/null")
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "SHELL=/bin/sh", "HOME="+t.TempDir())
	cmd.Stdin = strings.NewReader(keys)
	out, err := cmd.Output()
	if err != nil || len(out) == 0 {
		t.Fatalf("record %v: %v (%d bytes)", command, err, len(out))
	}
	return out
}

// tmux is a server of its own for one test.
type tmux struct {
	t   *testing.T
	dir string
}

func startTmux(t *testing.T) *tmux {
	need(t, "tmux", "script", "stty", "dd", "cat")
	m := &tmux{t, t.TempDir()}
	m.run("new-session", "-d", "-x", "80", "-y", "24", "cat", ";", "set", "-g", "status", "off") // keeps the server
	t.Cleanup(func() { _ = m.command("kill-server").Run() })                                     // it may never have started
	return m
}

func (m *tmux) command(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-S", filepath.Join(m.dir, "socket"), "-f", "/dev/null"}, args...)...)
	cmd.Env = append(os.Environ(), "TMUX=", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "SHELL=/bin/sh")
	return cmd
}

func (m *tmux) run(args ...string) string {
	m.t.Helper()
	out, err := m.command(args...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

// pane is what tmux shows: the look of each cell and the state around it.
type pane struct {
	cells [][]Cell
	state string
}

const paneState = "cursor #{cursor_x},#{cursor_y} visible #{cursor_flag} alternate #{alternate_on} #{?alternate_on,saved #{alternate_saved_x} #{alternate_saved_y},}" +
	" region #{scroll_region_upper}-#{scroll_region_lower} origin #{origin_flag} wrap #{wrap_flag} insert #{insert_flag}" +
	" keys #{keypad_cursor_flag}#{keypad_flag} mouse #{mouse_standard_flag}#{mouse_button_flag}#{mouse_all_flag}#{mouse_sgr_flag}#{mouse_utf8_flag} tabs #{pane_tabs}"

// show writes output to a new pane. That tmux has read all of it is known when
// it answers the status report that follows.
func (m *tmux) show(name string, output []byte) pane {
	m.t.Helper()
	file := filepath.Join(m.dir, name)
	if err := os.WriteFile(file, append(output, "\x1b[5n"...), 0o600); err != nil {
		m.t.Fatal(err)
	}
	script := fmt.Sprintf("stty raw -echo; cat %s; dd bs=1 count=4 >/dev/null 2>&1; tmux wait-for -S %s; exec cat >/dev/null", file, name)
	m.run("new-session", "-d", "-x", "80", "-y", "24", "-s", name, script)
	m.run("wait-for", name)
	defer m.run("kill-session", "-t", name)
	return pane{
		cells: cellsOfCapture(m.run("capture-pane", "-e", "-p", "-N", "-t", name)),
		state: m.run("display", "-p", "-t", name, paneState),
	}
}

// tmux 3.3 writes SGR 53 as 5:3 in captures.
var overlined = regexp.MustCompile(`(\x1b\[(?:[0-9:]+;)*)5:3([;m])`)

// cellsOfCapture turns the lines of a capture into cells.
func cellsOfCapture(capture string) [][]Cell {
	capture = overlined.ReplaceAllString(capture, "${1}53${2}")
	s := New(80, 24)
	s.write([]byte("\x1b)0")) // tmux shifts to line drawing without designating it
	s.write([]byte(strings.ReplaceAll(strings.TrimSuffix(capture, "\n"), "\n", "\r\n")))
	return unerased(s.Cells())
}

// unerased forgets what no capture says: erased cells at the end of a row are
// left out of it, with their background.
func unerased(rows [][]Cell) [][]Cell {
	for _, row := range rows {
		for x := len(row) - 1; x >= 0 && row[x].Erased; x-- {
			row[x].SGR = ""
		}
		for x := range row {
			row[x].Erased, row[x].Link = false, "" // links only from tmux 3.4 on
		}
	}
	return rows
}

// points cuts a recording: while the program ran, and before it left.
func points(out []byte) map[string][]byte {
	cuts := map[string][]byte{"end": out}
	if i := bytes.LastIndex(out, []byte("\x1b[?1049l")); i > 0 {
		cuts["before-leaving"] = out[:i]
	}
	for i := 1; i < 6; i++ {
		cuts[fmt.Sprintf("cut-%d", i)] = whole(out[:len(out)*i/6])
	}
	return cuts
}

// whole drops a sequence or character that is cut at the end, for the question
// of show would become part of it.
func whole(out []byte) []byte {
	s := New(80, 24)
	end := 0
	for i, c := range out {
		s.step(c)
		if s.state == ground && s.nPart == 0 {
			end = i + 1
		}
	}
	return out[:end:end]
}

func TestRealProgramsLookAsInTmux(t *testing.T) {
	m := startTmux(t)
	for name, out := range recordings(t) {
		for at, output := range points(out) {
			t.Run(name+"/"+at, func(t *testing.T) {
				compareWithTmux(t, &tmux{t, m.dir}, output)
			})
		}
	}
}

func compareWithTmux(t *testing.T, m *tmux, output []byte) {
	s := New(80, 24)
	s.Write(output)
	live := m.show("live", output)
	if d := diffCells(live.cells, unerased(s.Cells())); d != "" {
		t.Errorf("tmux and Screen: %s", d)
	}
	again := m.show("again", s.Snapshot())
	if d := diffCells(live.cells, again.cells); d != "" {
		t.Errorf("tmux before and after: %s", d)
	}
	if live.state != again.state {
		t.Errorf("tmux before and after:\n%s%s", live.state, again.state)
	}
	if s.OnAlternate() {
		left := m.show("left", append(output, "\x1b[?1049l"...))
		leftAgain := m.show("leftagain", append(s.Snapshot(), "\x1b[?1049l"...))
		if d := diffCells(left.cells, leftAgain.cells); d != "" {
			t.Errorf("the main screen before and after: %s", d)
		}
	}
}

func recordings(t *testing.T) map[string][]byte {
	need(t, "vim", "less", "htop")
	dir := t.TempDir()
	file := filepath.Join(dir, "text.c")
	var text strings.Builder
	for i := range 300 {
		fmt.Fprintf(&text, "int line_%d(char *s) { return %d; } /* 漢字 naïve é 👍 \t %s */\n", i, i, strings.Repeat("wrap ", i%30))
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(dir, "keys")
	if err := os.WriteFile(keys, []byte("\x06\x06\x02jjdd5ihello 漢字 \x1b:split\nGgg:vsplit\nwwxx:syntax off\n:syntax on\n5\x19\x05/line_2\nnnn:set number\nGzz:q!\n:qa!\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := "printf 'before \\033[31mred\\033[m\\r\\n'; "
	return map[string][]byte{
		"vim":      record(t, "", before, "vim", "-u", "NONE", "-N", "-c", "'syntax on'", "-c", "'set ruler laststatus=2 showcmd hlsearch'", "-s", keys, file),
		"less":     record(t, "   G g /line_1\nnnN-Sjjjbbq", before, "less", file),
		"less-raw": record(t, "   Ggq", before, "ls -l --color=always /usr/bin | less -R"),
		"htop":     record(t, "q", before, "htop"),
		"shell":    record(t, "", "seq 1 200; ls --color=always -C /usr/bin | head -100; grep --color=always -n int", file),
		"modes":    []byte(everyMode),
	}
}

// everyMode is a program that uses all there is.
const everyMode = "main screen \x1b[1;31mred\x1b[m\r\n\x1b[5;10H\x1b7\x1b[3g\x1b[11G\x1bH\x1b[31G\x1bH\x1b[10;20H" +
	"\x1b[?1049h\x1b[2J\x1b[3;20r\x1b[?6h\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[?1002h\x1b[?1006h\x1b[?25l" +
	"\x1b[H\x1b[38;2;10;20;30;48;5;200mtrue\x1b[m \x1b[1mbold\x1b[m \x1b[2mfaint\x1b[m \x1b[3mital\x1b[m \x1b[4mund\x1b[m \x1b[5mblink\x1b[m \x1b[7mrev\x1b[m \x1b[9mstrike\x1b[m \x1b[4:3mcurly\x1b[m\r\n" +
	"\x1b(0lqqqk\x1b(B \x0e\x1b)0x\x0fx\tTAB\r\n中文 e\u0301 \r\n" +
	"\x1b[44mblue\x1b[K\x1b[m\r\nabcdef\x1b[3D\x1b[2@\r\nabcdef\x1b[4D\x1b[2P\x1b[X\r\nx\x1b[20b\r\n" +
	"\x1b[8H\x1b[2L\x1b[10H\x1b[1M\x1b[2S\x1b[1T\x1b[6H\x1bM\x1bM\x1b[17Hbottom\n\n\x1b[4h\x1b[1Hins\x1b[4l" +
	"\x1b[5;76Hwrapping around\x1b[7;80H|"

// Random states, as tmux shows their snapshots. Left out is what tmux has its own
// opinion on: the width of emoji and how many marks a cell can have.
func TestSnapshotsInTmux(t *testing.T) {
	m := startTmux(t)
	streams := rapid.Custom(func(t *rapid.T) []byte { return stream(t, "tokens") })
	for seed := range 150 {
		s := New(80, 24)
		s.write(whole(streams.Example(seed)))
		if strings.ContainsFunc(s.Text(), func(r rune) bool {
			return r >= 0x1f000 || r == 0x200d || r == 0xfe0f || r == 0x308 || r == 0xfdfa || r == 0xad
		}) {
			continue
		}
		shown := m.show("random", s.Snapshot())
		if d := diffCells(unerased(s.Cells()), shown.cells); d != "" {
			t.Errorf("seed %d: Screen and tmux: %s", seed, d)
		}
		x, y, visible := s.Cursor()
		if s.wrap {
			x++ // tmux counts it past the end
		}
		if want := fmt.Sprintf("cursor %d,%d visible %d", x, y, map[bool]int{true: 1}[visible]); !strings.HasPrefix(shown.state, want) {
			t.Errorf("seed %d: %s, tmux %s", seed, want, shown.state)
		}
	}
}

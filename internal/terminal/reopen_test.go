package terminal

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/coop-dev/coop/internal/terminal/screen"
)

func (p *fakePty) Kept() (from, to uint64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acked, p.acked + uint64(len(p.bytes)), nil
}

// settled prints and waits until all of it is stored.
func (p *fakePty) settled(b []byte) {
	p.print(b)
	p.await(func() bool { return len(p.bytes) == 0 })
}

// reopen is what a new daemon does.
func reopen(t *testing.T, p *fakePty, dir string) *Terminal {
	t.Helper()
	p.set(func() { p.closed = false })
	return open(t, p, func(c *Config) { c.Dir, c.PID, c.Cols, c.Rows = dir, 7, 0, 0 })
}

// The alternate screen was entered, with modes and another size, megabytes ago.
func TestNewDaemonShowsTheSameScreen(t *testing.T) {
	p, dir := newFakePty(), t.TempDir()
	term := open(t, p, func(c *Config) { c.Dir = dir })
	truth := screen.New(80, 24)
	both := func(b []byte) { truth.Write(b); p.settled(b) }
	both([]byte("main \x1b[32mscreen\x1b[?2004h\x1b[?1h\x1b[?1049h\x1b[?1003h\x1b[?1006h\x1b]0;a title\a"))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 20 {
		both(bytes.ReplaceAll(flood(r, 200<<10), []byte("\x1b[?1049l"), nil))
		if i%5 == 4 {
			cols, rows := 60+r.IntN(60), 20+r.IntN(20)
			if err := term.Resize(cols, rows); err != nil {
				t.Fatal(err)
			}
			truth.Resize(cols, rows)
		}
	}
	if err := term.Close("upgrade"); err != nil {
		t.Fatal(err)
	}
	p.print([]byte("while nobody looked"))
	truth.Write([]byte("while nobody looked"))

	term = reopen(t, p, dir)
	p.exit()
	exited(t, term, 0)
	v := attach(t, term, ClientOptions{})
	v.until("exit")
	if d := screen.Diff(truth, v.screen); d != "" {
		t.Error(d)
	}
	if i := term.Info(); i.Title != "a title" {
		t.Errorf("title %q", i.Title)
	}
}

func TestNewSandboxLifeBeginsWithANewScreen(t *testing.T) {
	for role, kept := range map[string]string{RoleAgent: "oldnew", RoleShell: "new"} {
		p, dir := newFakePty(), t.TempDir()
		term := open(t, p, func(c *Config) { c.Dir, c.Role = dir, role })
		p.settled([]byte("old"))
		term.Close("")
		p = newFakePty()
		p.stream = "life-2"
		term = open(t, p, func(c *Config) { c.Dir, c.Role = dir, role })
		p.settled([]byte("new"))
		p.exit()
		exited(t, term, 0)
		checkHistory(t, term, []byte(kept))
		v := attach(t, term, ClientOptions{})
		v.until("exit")
		want := screen.New(80, 24)
		want.Write([]byte("new"))
		if d := screen.Diff(want, v.screen); d != "" {
			t.Errorf("%s: %s", role, d)
		}
	}
}

// A log that was damaged must not keep the program from going on.
func TestDamagedLogGoesOn(t *testing.T) {
	p, dir := newFakePty(), t.TempDir()
	term := open(t, p, func(c *Config) { c.Dir = dir })
	p.settled([]byte("stored and lost"))
	term.Close("")
	names, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	b, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names[0], b[:len(b)-len("and lost")], 0o600); err != nil {
		t.Fatal(err)
	}
	term = reopen(t, p, dir)
	p.settled([]byte(" and more"))
	checkHistory(t, term, []byte("stored  and more"))
	if err := os.WriteFile(names[0], []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	term.Close("")
	_ = os.Remove(filepath.Join(dir, "00000000000000000007.seg"))
	term = reopen(t, p, dir)
	p.settled([]byte("!"))
	p.exit()
	exited(t, term, 0)
}

func TestFollowersReadToTheEnd(t *testing.T) {
	p := newFakePty()
	term := open(t, p)
	changed, stop := term.Watch()
	defer stop()
	p.settled([]byte("all of it"))
	term.Close("")
	<-changed
	b := make([]byte, 100)
	if n, _, err := term.Read(b, 0); err != nil || string(b[:n]) != "all of it" {
		t.Errorf("%q %v", b[:n], err)
	}
	if c, _ := term.Watch(); c != nil {
		t.Error("a closed terminal can be watched")
	}
}

func TestScrollbackComesBeforeTheScreenAndIsHarmless(t *testing.T) {
	p := newFakePty()
	term := open(t, p)
	p.settled([]byte("first line\x1b]52;c;aGk=\a\r\n" + string(bytes.Repeat([]byte("line\r\n"), 50)) + "last"))
	published(term)
	v := attach(t, term, ClientOptions{Scrollback: true})
	v.keep = true
	p.exit()
	exited(t, term, 0)
	v.until("exit")
	if !bytes.HasPrefix(v.bytes, []byte("first line\r\nline\r\n")) || bytes.Contains(v.bytes, []byte("\x1b]52")) {
		t.Errorf("%.100q", v.bytes)
	}
	want := screen.New(80, 24)
	want.Write([]byte("\x1b[H" + string(bytes.Repeat([]byte("line\r\n"), 23)) + "last"))
	if got := v.screen.Text(); got != want.Text() {
		t.Errorf("%q", got)
	}
}

package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/terminal/screen"
)

func exited(t *testing.T, term *Terminal, code int) {
	t.Helper()
	if err := term.Exited(context.Background(), Status{Code: code}); err != nil {
		t.Error(err)
	}
}

func TestOutputReachesClientsByteForByte(t *testing.T) {
	p := newFakePty()
	term := open(t, p)
	viewers := []*viewer{attach(t, term, ClientOptions{Cols: 80, Rows: 24}), attach(t, term, ClientOptions{ReadOnly: true})}
	p.print([]byte("hello \x1b[31mred\x1b[m\r\n"))
	p.exit()
	exited(t, term, 3)
	for _, v := range viewers {
		v.keep = true
		if c := v.until("exit"); c.Exit == nil || c.Exit.ExitCode != 3 {
			t.Errorf("exit %+v", c)
		}
		if string(v.bytes) != "hello \x1b[31mred\x1b[m\r\n" {
			t.Errorf("got %q", v.bytes)
		}
	}
	term.Close("")
	if viewers[0].step() {
		t.Error("frames after the end", viewers[0].controls)
	}
	info := term.Info()
	if info.Running || info.ExitCode == nil || *info.ExitCode != 3 {
		t.Errorf("info %+v", info)
	}
}

func TestLateClientSeesTheScreenAndNothingDangerous(t *testing.T) {
	p := newFakePty()
	term := open(t, p)
	out := "\x1b]52;c;aGk=\a\x1b]0;title\a\x1b[c\x1b[6n\x1bP$qm\x1b\\" + "\x1b[?1049h\x1b[2;5H\x1b[1;32mX\x1b[?2004h"
	p.print([]byte(out))
	p.await(func() bool { return p.acked == uint64(len(out)) })
	published(term)
	truth := screen.New(80, 24)
	truth.Write([]byte(out))
	v := attach(t, term, ClientOptions{})
	v.keep = true
	p.print([]byte("Y"))
	truth.Write([]byte("Y"))
	p.exit()
	exited(t, term, 0)
	v.until("exit")
	if d := screen.Diff(truth, v.screen); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"\x1b]52", "\x1b]0", "\x1b[c", "\x1b[6n", "\x1bP"} {
		if bytes.Contains(v.bytes, []byte(bad)) {
			t.Errorf("%q reaches the viewer in %q", bad, v.bytes)
		}
	}
	if title := term.Info().Title; title != "title" {
		t.Errorf("title %q", title)
	}
}

func TestInputMergesAndReadOnlyIsRefused(t *testing.T) {
	p := newFakePty()
	term := open(t, p)
	a, b, ro := attach(t, term, ClientOptions{}), attach(t, term, ClientOptions{}), attach(t, term, ClientOptions{ReadOnly: true})
	for _, c := range []*viewer{a, b} {
		if err := c.c.Write([]byte("x")); err != nil {
			t.Error(err)
		}
	}
	if err := ro.c.Write([]byte("y")); !errors.Is(err, ErrReadOnly) {
		t.Error(err)
	}
	p.full = true
	if err := a.c.Write([]byte("z")); !errors.Is(err, ErrFull) {
		t.Error(err)
	}
	if string(p.input) != "xx" {
		t.Errorf("input %q", p.input)
	}
}

func TestSizeFollowsTheClientThatWasActiveLast(t *testing.T) {
	p := newFakePty()
	term := open(t, p)
	size := func(cols, rows int) {
		t.Helper()
		if i := term.Info(); i.Cols != cols || i.Rows != rows {
			t.Errorf("size %d × %d, want %d × %d", i.Cols, i.Rows, cols, rows)
		}
	}
	a := attach(t, term, ClientOptions{Cols: 100, Rows: 30})
	size(100, 30)
	b := attach(t, term, ClientOptions{Cols: 120, Rows: 40})
	size(120, 40)
	attach(t, term, ClientOptions{Cols: 10, Rows: 10, ReadOnly: true})
	size(120, 40)
	_ = a.c.Write([]byte("k"))
	size(100, 30)
	if err := b.c.Resize(90, 20); err != nil {
		t.Error(err)
	}
	size(90, 20)
	b.c.Close()
	size(100, 30)
	if err := term.Resize(50, 10); err != nil {
		t.Error(err)
	}
	size(50, 10)
	_ = a.c.Write([]byte("k"))
	size(100, 30)
	if err := a.c.Resize(5000, 1); err == nil {
		t.Error("a window of 5000 columns")
	}
	want := [][2]int{{100, 30}, {120, 40}, {100, 30}, {90, 20}, {100, 30}, {50, 10}, {100, 30}}
	if !slices.Equal(p.sizes, want) {
		t.Errorf("sizes %v", p.sizes)
	}
}

func TestRestartBeginsWithACleanScreen(t *testing.T) {
	p := newFakePty()
	term := open(t, p)
	v := attach(t, term, ClientOptions{Cols: 80, Rows: 24})
	p.print([]byte("\x1b[?1049h\x1b[?1003h\x1b[?2004h\x1b[5;10rwild\x1b[7m"))
	p.exit()
	exited(t, term, 1)
	term.Restarting(100 * time.Millisecond)
	p.set(func() { p.ended = false })
	term.Started("sh", 8)
	p.print([]byte("clean"))
	p.exit()
	exited(t, term, 0)
	v.until("exit")
	if c := v.until("restarting"); c.DelayMs != 100 {
		t.Errorf("%+v", c)
	}
	v.until("exit")
	want := screen.New(80, 24)
	want.Write([]byte("clean"))
	late := attach(t, term, ClientOptions{})
	late.until("exit")
	for _, s := range []*screen.Screen{want, v.screen, late.screen} {
		s.Write([]byte("\x1b[0 q")) // never set, or set to the default: the same
	}
	for _, s := range []*screen.Screen{v.screen, late.screen} {
		if d := screen.Diff(want, s); d != "" {
			t.Error(d)
		}
	}
	if i := term.Info(); i.Restarts != 1 {
		t.Errorf("restarts %d", i.Restarts)
	}
	term.Failed("three exits within 5s each")
	if c := late.until("failed"); c.Reason == "" {
		t.Error("no reason")
	}
}

func TestHeldOutputWaitsForTheFirstClient(t *testing.T) {
	p := newFakePty()
	term := open(t, p, func(c *Config) { c.Role, c.Hold = RoleExec, patience })
	p.print([]byte("short\r\n"))
	p.exit()
	v := attach(t, term, ClientOptions{Cols: 80, Rows: 24})
	v.keep = true
	exited(t, term, 0)
	v.until("exit")
	if string(v.bytes) != "short\r\n" {
		t.Errorf("got %q", v.bytes)
	}
}

func TestHoldEnds(t *testing.T) {
	p := newFakePty()
	term := open(t, p, func(c *Config) { c.Role, c.Hold = RoleExec, time.Millisecond })
	p.exit()
	exited(t, term, 0)
}

func TestCloseTellsClients(t *testing.T) {
	p := newFakePty()
	term := open(t, p)
	v := attach(t, term, ClientOptions{})
	term.Close("the daemon ends")
	if c := v.until("detached"); c.Reason != "the daemon ends" {
		t.Errorf("%+v", c)
	}
	if v.step() {
		t.Error("frames after the end")
	}
	if _, err := term.Attach(ClientOptions{}); err == nil {
		t.Error("attached to a closed terminal")
	}
	if err := term.Close("again"); err != nil {
		t.Error(err)
	}
}

// A client that missed the restart does not keep modes of the program before.
func TestLaggingClientMissesARestart(t *testing.T) {
	p := newFakePty()
	term := open(t, p)
	v := attach(t, term, ClientOptions{})
	p.settled([]byte("\x1b[5 q\x1b[?1003h\x1b[?1049h"))
	v.until("attached")
	for v.waiting() {
		v.step()
	}
	for range 3 * maxQueue / (256 << 10) {
		p.settled(bytes.Repeat([]byte("line of text\r\n"), (256<<10)/14))
	}
	p.exit()
	exited(t, term, 1)
	p.set(func() { p.ended = false })
	term.Started("sh", 8)
	p.settled([]byte("clean"))
	p.exit()
	exited(t, term, 0)
	term.Close("")
	for v.step() {
	}
	if v.lagged == 0 {
		t.Fatal("it did not lag")
	}
	want := screen.New(80, 24)
	want.Write([]byte("\x1b[0 qclean"))
	if d := screen.Diff(want, v.screen); d != "" {
		t.Error(d)
	}
}

// flood is output that a program could print, n bytes or a little more: text,
// colours, moves, both screens.
func flood(r *rand.Rand, n int) []byte {
	var b bytes.Buffer
	for b.Len() < n {
		switch r.IntN(12) {
		case 0:
			fmt.Fprintf(&b, "\x1b[%d;%dH", r.IntN(24)+1, r.IntN(80)+1)
		case 1:
			fmt.Fprintf(&b, "\x1b[%dm", 30+r.IntN(8))
		case 2:
			fmt.Fprintf(&b, "\x1b[?1049%c", "hl"[r.IntN(2)])
		case 3:
			b.WriteString("\x1b[2J")
		case 4:
			b.WriteString("漢字é")
		default:
			b.WriteString(strings.Repeat(string(rune('a'+r.IntN(26))), r.IntN(200)) + "\r\n")
		}
	}
	return b.Bytes()
}

// TestSlowClientEndsWithTheTrueScreen is the property that matters: whatever is
// left out on the way, at the end the client shows what the program drew.
func TestSlowClientEndsWithTheTrueScreen(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			p := newFakePty()
			term := open(t, p)
			truth := screen.New(80, 24)
			slow, fast := attach(t, term, ClientOptions{}), attach(t, term, ClientOptions{})
			var viewers sync.WaitGroup
			viewers.Go(func() { fast.until("exit") })
			chunk := flood(r, 1<<20)
			total := 0
			for range 12 {
				n := r.IntN(len(chunk)-1) + 1
				truth.Write(chunk[:n])
				p.print(chunk[:n])
				total += n
				for range r.IntN(3) { // it stalls the rest of the time
					if slow.waiting() {
						slow.step()
					}
				}
			}
			p.exit()
			exited(t, term, 0)
			slow.until("exit")
			viewers.Wait()
			for _, v := range []*viewer{slow, fast} {
				if d := screen.Diff(truth, v.screen); d != "" {
					t.Errorf("after %d bytes, lagged %d times: %s", total, v.lagged, d)
				}
			}
			if slow.lagged == 0 {
				t.Log("the slow client was never too slow")
			}
		})
	}
}

func TestDeadClientDoesNotStopTheProgram(t *testing.T) {
	p := newFakePty()
	term := open(t, p)
	dead := attach(t, term, ClientOptions{})
	line := bytes.Repeat([]byte("0123456789abcde\n"), 1<<12)
	for range 100 { // 6 MB, against 2 MB of queue
		p.print(line)
	}
	p.exit()
	exited(t, term, 0)
	if term.mu.Lock(); dead.c.bytes > maxQueue || !dead.c.lagging {
		t.Errorf("%d bytes wait for a dead client, lagging %v", dead.c.bytes, dead.c.lagging)
	}
	term.mu.Unlock()
}

func TestFiftyClients(t *testing.T) {
	p := newFakePty()
	term := open(t, p)
	r := rand.New(rand.NewPCG(5, 5))
	truth := screen.New(80, 24)
	var wg sync.WaitGroup
	list := make([]*viewer, 50)
	for i := range list {
		list[i] = attach(t, term, ClientOptions{})
		wg.Go(func() { list[i].until("exit") })
	}
	for range 10 {
		out := flood(r, 64<<10)
		truth.Write(out)
		p.print(out)
	}
	p.exit()
	exited(t, term, 0)
	wg.Wait()
	for i, v := range list {
		if d := screen.Diff(truth, v.screen); d != "" {
			t.Errorf("client %d: %s", i, d)
		}
	}
	if n := term.Info().Clients; n != 50 {
		t.Errorf("%d clients", n)
	}
}

func TestWebClientsOfTerminal0AreFiltered(t *testing.T) {
	p := newFakePty()
	term := open(t, p, func(c *Config) { c.CtrlCDebounce, c.Block = time.Hour, [][]byte{{4}} })
	web, plain := attach(t, term, ClientOptions{Web: true}), attach(t, term, ClientOptions{})
	_ = web.c.Write([]byte("a\x03\x03b\x04"))
	_ = plain.c.Write([]byte("\x03\x03\x04"))
	if string(p.input) != "a\x03b\x03\x03\x04" {
		t.Errorf("input %q", p.input)
	}
}

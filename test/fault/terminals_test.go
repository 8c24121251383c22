package fault

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/terminal"
	"github.com/coop-dev/coop/test/harness"
)

// withLog is a sandbox whose terminals keep much.
func withLog(t testing.TB, h harness.Instance, scrollback api.Size) string {
	t.Helper()
	sb, err := h.Client(t).Create(within(t, time.Minute), api.CreateRequest{
		Workspace: &api.Workspace{Mode: "none"}, Session: &api.Session{Scrollback: scrollback},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Coop(t, "rm", "-f", sb.ID) })
	return sb.ID
}

// lines are the numbers 1 to n as a terminal shows them: a counter in which
// every missing, doubled or changed byte shows.
func lines(n int) []byte {
	var b bytes.Buffer
	for i := 1; i <= n; i++ {
		b.WriteString(strconv.Itoa(i))
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

// differs describes where two streams part.
func differs(got, want []byte) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	return fmt.Sprintf("%d bytes, want %d; at %d %.60q, want %.60q", len(got), len(want), i, got[i:], want[i:])
}

// Twenty terminals print and ten clients watch while the daemon is killed again
// and again. After the next command everything is attached again, and each
// terminal's bytes are complete.
func TestKilledWhileTerminalsPrint(t *testing.T) {
	const terminals, clients, kills, count = 20, 10, 4, 300_000
	h := harness.Shared()
	box := withLog(t, h, 8<<20)
	var numbers []int
	for range terminals {
		numbers = append(numbers, openTerminal(t, h, box, api.TerminalRequest{
			Role: "exec", Command: fmt.Sprintf("seq 1 %d; printf do''ne; exec sleep 7171", count), Args: nil, Cols: 80, Rows: 24,
		}))
	}
	for range kills {
		h.StartDaemon(t)
		watchUntil(t, h, box, numbers[:clients], clients, nil)
		h.KillDaemon(t)
	}
	h.StartDaemon(t)
	watchUntil(t, h, box, numbers, 0, []byte("done")) // all of them, also those nobody has watched yet
	want := append(lines(count), "done"...)
	for _, n := range numbers {
		if got := rawLog(t, h, box, n); !bytes.Equal(got, want) {
			t.Errorf("terminal %d: %s", n, differs(got, want))
		}
	}
}

// watchUntil attaches a client to each terminal and returns when, in all, so many
// frames have come, or when each has seen a text.
func watchUntil(t *testing.T, h harness.Instance, box string, numbers []int, frames int, text []byte) {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t, 2*time.Minute))
	defer cancel()
	var wg sync.WaitGroup
	came := make(chan struct{}, 1000)
	for _, n := range numbers {
		wg.Go(func() {
			w, err := watch(ctx, h, box, n)
			if err != nil {
				t.Error(err)
				return
			}
			defer w.conn.Close()
			var tail []byte
			for {
				b, c, err := w.next()
				if err != nil || c != nil && c.Type == "exit" {
					if ctx.Err() == nil {
						t.Errorf("terminal %d: %v, %+v", n, err, c)
					}
					return
				}
				if tail = append(tail, b...); len(tail) > 1<<16 {
					tail = bytes.Clone(tail[len(tail)-1<<12:])
				}
				if len(text) > 0 && bytes.Contains(tail, text) {
					return
				}
				select {
				case came <- struct{}{}:
				default:
				}
			}
		})
	}
	for i := 0; i < frames; i++ {
		select {
		case <-came:
		case <-ctx.Done():
			t.Fatal("nothing comes")
		}
	}
	if frames > 0 {
		cancel()
	}
	wg.Wait()
}

// The daemon dies at a hundred random instants while a terminal prints as fast as
// it can. After each the log is read where the last look ended: every byte the
// program ever wrote is looked at once, and must be the one that follows.
func TestKilledAtRandomInstants(t *testing.T) {
	const kills = 100
	h := harness.Shared()
	box := withLog(t, h, 32<<20)
	n := openTerminal(t, h, box, api.TerminalRequest{Role: "exec", Command: "exec seq 1 9999999999", Cols: 80, Rows: 24})
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	stream := &counting{next: []byte("1\r\n")}
	start := time.Now()
	for i := 1; i <= kills; i++ {
		h.StartDaemon(t)
		killAtRandom(t, h, box, n, random)
		stream.look(t, terminal.Dir(filepath.Join(h.Dir, "sandboxes", box, "terminals"), n))
	}
	took := time.Since(start)
	t.Logf("%d kills, %d MB, %s", kills, stream.at>>20, took.Round(time.Second))
	if stream.at < kills*1000 {
		t.Errorf("only %d bytes: the program was hardly ever running", stream.at)
	}
}

// counting checks a stream of numbers bit by bit.
type counting struct {
	at   uint64 // how far the stream was looked at
	line int    // the number of the line it is in
	next []byte // what must follow
}

// look reads what was stored since the last time. Nobody writes meanwhile: the
// daemon is dead.
func (c *counting) look(t *testing.T, dir string) {
	t.Helper()
	log, err := terminal.OpenHistory(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	skip := log.Size() - int64(log.End()-c.at)
	if skip < 0 || c.at > log.End() {
		t.Fatalf("the log holds %d bytes up to %d, seen were %d", log.Size(), log.End(), c.at)
	}
	b, err := io.ReadAll(io.NewSectionReader(log, skip, log.Size()-skip))
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		if len(c.next) == 0 {
			c.line++
			c.next = fmt.Appendf(nil, "%d\r\n", c.line+1)
		}
		if b[i] != c.next[0] {
			t.Fatalf("byte %d, in line %d, is wrong: %.60q", c.at, c.line+1, b[max(0, i-20):])
		}
		c.next = c.next[1:]
		c.at++
	}
}

// killAtRandom kills the daemon after some frames, or some instructions.
func killAtRandom(t *testing.T, h harness.Instance, box string, n int, random *rand.Rand) {
	t.Helper()
	defer h.KillDaemon(t)
	if random.IntN(4) == 0 {
		timer := time.NewTimer(time.Duration(random.IntN(5000)) * time.Microsecond)
		defer timer.Stop()
		<-timer.C
		return
	}
	w, err := watch(within(t, time.Minute), h, box, n)
	if err != nil {
		t.Fatal(err)
	}
	defer w.conn.Close()
	for range random.IntN(12) {
		if _, _, err := w.next(); err != nil {
			t.Fatal(err)
		}
	}
}

// While the daemon is dead a program gets at least a megabyte further, then it
// waits, and nothing of it is lost.
func TestDeadDaemonStallsLate(t *testing.T) {
	h := harness.Shared()
	dir := harness.Project(t)
	id := h.Create(t, "--workspace", dir, "--mode", "bind")
	const block, blocks = 16 << 10, 200
	script := fmt.Sprintf(
		"stty -opost; read x; i=0; while test $i -lt %d; do i=$((i+1)); head -c %d /dev/zero | tr '\\0' '#'; echo $i >progress.new; mv progress.new progress; done; printf do''ne; exec sleep 7272",
		blocks, block)
	n := openTerminal(t, h, id, api.TerminalRequest{Role: "shell", Command: script})
	w, err := watch(within(t, time.Minute), h, id, n)
	if err != nil {
		t.Fatal(err)
	}
	if err := api.WriteFrame(w.conn, api.FrameData, []byte("go\r")); err != nil {
		t.Fatal(err)
	}
	progress := func() (int, bool) {
		b, _ := os.ReadFile(filepath.Join(dir, "progress")) // not there yet: 0
		i, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		return i, i > 0
	}
	until(t, progress)
	h.KillDaemon(t)
	w.conn.Close()
	at, _ := progress()
	reached := until(t, func() (int, bool) {
		i, _ := progress()
		return i, (i-at)*block >= 1<<20 || i == blocks
	})
	t.Logf("%d KiB after the daemon's death", (reached-at)*block>>10)
	h.StartDaemon(t)
	watchUntil(t, h, id, []int{n}, 0, []byte("done"))
	log := rawLog(t, h, id, n)
	if !bytes.HasSuffix(log, []byte("###done")) {
		t.Errorf("the log ends with %.40q", log[max(0, len(log)-40):])
	}
}

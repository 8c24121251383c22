package store

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openLog(t *testing.T, dir string, keep int64) *Log {
	t.Helper()
	l, err := Open(dir, keep)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func add(t *testing.T, l *Log, s string) {
	t.Helper()
	n, err := l.Append([]byte(s))
	must(t, err)
	if n != len(s) {
		t.Fatal(n)
	}
}

func content(t *testing.T, l *Log) string {
	t.Helper()
	h, err := l.History()
	must(t, err)
	defer h.Close()
	b := make([]byte, h.Size())
	if _, err := h.ReadAt(b, 0); err != nil && h.Size() > 0 {
		t.Fatal(err)
	}
	return string(b)
}

func TestReplayGivesStateOutputAndEventsInOrder(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, 10)
	must(t, l.Begin(Start{Stream: "s", Cols: 80, Rows: 24, State: []byte("state")}))
	add(t, l, "one")
	must(t, l.Note(Event{Kind: Resize, Cols: 100, Rows: 30}))
	must(t, l.Note(Event{Kind: Reset, Cols: 100, Rows: 30}))
	add(t, l, "two")
	must(t, l.Close())

	l = openLog(t, dir, 10)
	var got []string
	must(t, l.Replay(func(s Start) error { got = append(got, string(s.State)); return nil },
		func(p []byte) { got = append(got, string(p)) },
		func(e Event) { got = append(got, map[Kind]string{Resize: "resize", Reset: "reset"}[e.Kind]) }))
	if want := []string{"state", "one", "resize", "reset", "two"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if name, next := l.Stream(); name != "s" || next != 6 || l.End() != 6 {
		t.Error(name, next, l.End())
	}
}

func TestSegmentsTurnOverAndKeepEnough(t *testing.T) {
	l := openLog(t, t.TempDir(), 2<<20)
	part := bytes.Repeat([]byte("x"), 1<<19)
	for range 40 {
		if l.Full() {
			_, next := l.Stream()
			must(t, l.Begin(Start{Stream: "s", StreamAt: next}))
		}
		add(t, l, string(part))
		h, err := l.History()
		must(t, err)
		if h.Size() < min(2<<20, int64(l.End())) || h.Size() > 5<<20 {
			t.Errorf("%d bytes are kept", h.Size())
		}
		_ = h.Close()
	}
	if n := len(l.segments); n > 2 {
		t.Errorf("%d segments", n)
	}
	if _, next := l.Stream(); next != l.End() || next != 40<<19 {
		t.Error(next, l.End())
	}
}

func TestHistoryReadsAcrossSegments(t *testing.T) {
	l := openLog(t, t.TempDir(), 1<<20)
	for i, s := range []string{"abc", "", "defgh", "i"} {
		must(t, l.Begin(Start{Stream: "s", StreamAt: uint64(i)}))
		add(t, l, s)
	}
	if got := content(t, l); got != "abcdefghi" {
		t.Errorf("%q", got)
	}
	h, err := l.History()
	must(t, err)
	defer h.Close()
	for off := range int64(9) {
		for n := int64(1); n <= 9-off; n++ {
			b := make([]byte, n)
			if _, err := h.ReadAt(b, off); err != nil || string(b) != "abcdefghi"[off:off+n] {
				t.Errorf("%d at %d: %q %v", n, off, b, err)
			}
		}
	}
	b := make([]byte, 4)
	if n, at, err := l.ReadAt(b, 4); err != nil || at != 4 || string(b[:n]) != "efgh" {
		t.Errorf("%q %d %v", b[:n], at, err)
	}
	if n, _, err := l.ReadAt(b, 9); n != 0 || err != nil {
		t.Error(n, err)
	}
}

func TestDamagedSegmentsAreSetAside(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, 1<<20)
	must(t, l.Begin(Start{Stream: "s", State: []byte("abc")}))
	add(t, l, "good")
	must(t, l.Begin(Start{Stream: "s", StreamAt: 4, State: []byte("def")}))
	add(t, l, "bad")
	must(t, l.Close())
	name := filepath.Join(dir, segmentName(4))
	b, err := os.ReadFile(name)
	must(t, err)
	b[fixedSize+2] ^= 1
	must(t, os.WriteFile(name, b, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, segmentName(99)), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(dir, segmentName(7)+".tmp"), []byte("x"), 0o600))
	l = openLog(t, dir, 1<<20)
	if len(l.Damaged()) != 2 || content(t, l) != "good" {
		t.Errorf("%v %q", l.Damaged(), content(t, l))
	}
}

func TestTornEventIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, 1<<20)
	must(t, l.Begin(Start{Stream: "s"}))
	must(t, l.Note(Event{Kind: Resize, Cols: 1, Rows: 2}))
	must(t, l.Close())
	f, err := os.OpenFile(filepath.Join(dir, eventsName(0)), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.Write([]byte("torn record"))
	must(t, err)
	must(t, f.Close())
	l = openLog(t, dir, 1<<20)
	must(t, l.Note(Event{Kind: Resize, Cols: 3, Rows: 4}))
	var got []int
	must(t, l.Replay(func(Start) error { return nil }, func([]byte) {}, func(e Event) { got = append(got, e.Cols) }))
	if !slices.Equal(got, []int{1, 3}) {
		t.Error(got)
	}
}

func TestClear(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, 1<<20)
	must(t, l.Begin(Start{Stream: "s"}))
	add(t, l, "old")
	must(t, l.Clear())
	must(t, l.Begin(Start{Stream: "t"}))
	add(t, l, "new")
	if content(t, l) != "new" || l.End() != 3 {
		t.Error(content(t, l), l.End())
	}
}

func FuzzSegment(f *testing.F) {
	b, err := encodeStart(Start{Stream: "s", State: []byte("x")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, segmentName(0)), b, 0o600))
		must(t, os.WriteFile(filepath.Join(dir, eventsName(0)), b, 0o600))
		l, err := Open(dir, 1)
		must(t, err)
		defer l.Close()
		_ = l.Replay(func(Start) error { return nil }, func([]byte) {}, func(Event) {})
	})
}

package screen

import (
	"testing"

	"pgregory.net/rapid"
)

// same fails if the screens differ; what names the second.
func same(t *rapid.T, what string, a, b *Screen) {
	t.Helper()
	if d := Diff(a, b); d != "" {
		t.Fatalf("%s: %s\n%q\n%q", what, d, a.Text(), b.Text())
	}
}

// soft is state that a snapshot cannot carry and nothing but REP can see.
func soft(s *Screen) bool { return s.last != 0 && s.insert }

func TestSnapshotRebuildsTheScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScreen(t)
		s.write(stream(t, "tokens"))
		rest := stream(t, "rest")
		cut := rapid.IntRange(0, len(rest)).Draw(t, "cut")
		s.write(rest[:cut])

		fresh := New(s.cols, s.rows)
		fresh.write(s.Snapshot())
		same(t, "fresh", s, fresh)
		if s.state == osc || soft(s) {
			return // the rest of a command is swallowed on purpose
		}
		s.write(rest[cut:])
		fresh.write(rest[cut:])
		same(t, "fresh, and the rest", s, fresh)
	})
}

func TestSnapshotOverridesAnyState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScreen(t)
		s.write(stream(t, "tokens"))
		used := New(s.cols, s.rows)
		used.write(stream(t, "other"))
		leaveAlone(used, s)
		used.write(s.Snapshot())
		same(t, "used", s, used)
	})
}

// leaveAlone: what a program never touched is not touched in the terminal that
// shows it, so there it is as it was.
func leaveAlone(used, s *Screen) {
	used.blinking, used.altWheel, used.shape = s.blinking, s.altWheel, s.shape
	if !s.links.used {
		used.pen.link, used.saved[onMain].pen.link, used.saved[onAlt].pen.link = 0, 0, 0
	}
}

func TestCheckpointAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScreen(t)
		b := stream(t, "tokens")
		cut := rapid.IntRange(0, len(b)).Draw(t, "cut")
		s.write(b[:cut])
		loaded, err := Load(s.Save())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "loaded", s, loaded)
		s.write(b[cut:])
		loaded.write(b[cut:])
		same(t, "loaded, and the rest", s, loaded)
		if s.Title() != loaded.Title() {
			t.Fatalf("titles: %q and %q", s.Title(), loaded.Title())
		}
	})
}

func TestCutsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScreen(t)
		start := stream(t, "tokens")
		b := flood(t)
		if rapid.Bool().Draw(t, "any") {
			b = stream(t, "tokens")
		}
		s.write(start)
		s.write(b)
		bytewise := New(s.cols, s.rows)
		for _, c := range append(start, b...) {
			bytewise.step(c)
		}
		same(t, "byte by byte", s, bytewise)
	})
}

func TestResizeKeepsInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScreen(t)
		for range rapid.IntRange(1, 5).Draw(t, "resizes") {
			s.write(stream(t, "tokens"))
			s.Resize(rapid.IntRange(-1, 25).Draw(t, "cols"), rapid.IntRange(-1, 10).Draw(t, "rows"))
			fresh := New(s.cols, s.rows)
			fresh.write(s.Snapshot())
			same(t, "resized", s, fresh)
		}
	})
}

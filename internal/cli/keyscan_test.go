package cli

import (
	"bytes"
	"testing"

	"github.com/coop-dev/coop/internal/config"
)

// keyCases: what is typed, what the program gets, and whether that detaches.
var keyCases = []struct {
	key, typed, passed string
	detached           bool
}{
	{"ctrl-]", "hello", "hello", false},
	{"ctrl-]", "hi\x1dx", "hi", true},
	{"ctrl-]", "\x1b[A\x1bOB\x1b[1;5C", "\x1b[A\x1bOB\x1b[1;5C", false},
	{"ctrl-]", "a\x1b[93;5u", "a\x1b", true}, // a lone ESC is not held back
	{"ctrl-]", "\x1b[93;5:1u", "\x1b", true},
	{"ctrl-]", "\x1b[93;133u", "\x1b", true}, // with num lock
	{"ctrl-]", "\x1b[93:125:93;5:2u", "\x1b", true},
	{"ctrl-]", "\x1b[93;5;29u", "\x1b", true},
	{"ctrl-]", "\x1b[27;5;93~", "\x1b", true},
	{"ctrl-]", "\x1b[93;5:3u\x1b[93u\x1b[93;7u\x1b[94;5u", "\x1b[93;5:3u\x1b[93u\x1b[93;7u\x1b[94;5u", false},
	{"ctrl-]", "\x1b[27;5;13~\x1b[3~\x1b[99999999999999999999;5u", "\x1b[27;5;13~\x1b[3~\x1b[99999999999999999999;5u", false},
	{"ctrl-]", "\x1b[200~a\x1db\x1b[93;5u\x1b[201~c", "\x1b[200~a\x1db\x1b[93;5u\x1b[201~c", false},
	{"ctrl-]", "\x1b[200~a\x1b[201~\x1d", "\x1b[200~a\x1b[201~", true},
	{"ctrl-]", "\x1b[<0;3;4M\x1b[M !!", "\x1b[<0;3;4M\x1b[M !!", false},
	{"ctrl-]", "\x1b\x1b[93;5u", "\x1b\x1b", true},
	{"ctrl-]", "\x1b[9\x01\x1d", "\x1b[9\x01", true},
	{"ctrl-]", "\xc3\xa9\xf0\x9f\x90\x93", "\xc3\xa9\xf0\x9f\x90\x93", false},
	{"ctrl-p,ctrl-q", "a\x10b\x10\x11", "a\x10b", true},
	{"ctrl-p,ctrl-q", "\x10\x10\x11", "\x10", true},
	{"ctrl-p,ctrl-q", "\x11\x10x", "\x11\x10x", false},
	{"ctrl-p,ctrl-q", "\x1b[112;5u\x1b[113;5u", "\x1b", true},
	{"ctrl-p,ctrl-q", "\x1b[112;5u\x1b[112;5u\x1b[113;5u", "\x1b[112;5u", true},
	{"ctrl-p,ctrl-q", "\x1b[57442;5u\x1b[112;5u\x1b[112;5:3u\x1b[57442;1:3u\x1b[57442;5u\x1b[113;5u", "\x1b[57442;5u\x1b", true},
	{"ctrl-p,ctrl-q", "\x10\x1b[A", "\x10\x1b[A", false},
	{"ctrl-p,ctrl-q", "\x10\x1b[200~\x11", "\x10\x1b[200~\x11", false},
	{"ctrl-a,d", "d\x01d", "d", true},
	{"ctrl-a,d", "\x01\x1b[100u", "", true},
	{"ctrl-@", "\x1b[32;5u", "\x1b", true},
	{"none", "\x1d\x1b[93;5u", "\x1d\x1b[93;5u", false},
}

func TestDetachKeyInInput(t *testing.T) {
	for _, c := range keyCases {
		keys, err := config.ParseDetachKey(c.key)
		if err != nil {
			t.Fatal(err)
		}
		for cut := 0; cut <= len(c.typed); cut++ { // whole, and in two chunks wherever it is cut
			s := &keyScanner{keys: keys}
			passed, detached := s.scan([]byte(c.typed[:cut]))
			passed = bytes.Clone(passed)
			if !detached {
				var rest []byte
				rest, detached = s.scan([]byte(c.typed[cut:]))
				passed = append(passed, rest...)
			}
			if string(passed) != c.passed || detached != c.detached {
				t.Errorf("%s: %q cut at %d: %q, detached %v", c.key, c.typed, cut, passed, detached)
			}
		}
	}
}

func TestInputThatGoesNoFurther(t *testing.T) {
	for typed, want := range map[string]struct {
		first, late string
		person      bool
	}{
		"\x1b":            {"\x1b", "", false}, // never waits
		"\x1b[":           {"\x1b", "[", false},
		"\x1b[93;":        {"\x1b", "[93;", false},
		"\x10":            {"", "\x10", true},
		"\x1b[200~\x10":   {"\x1b[200~\x10", "", true},
		"\x1b[200~\x1b[2": {"\x1b[200~\x1b", "[2", false},
	} {
		s := &keyScanner{keys: config.DetachKey{{Char: 'p', Ctrl: true}, {Char: 'q', Ctrl: true}}}
		if got, _ := s.scan([]byte(typed)); string(got) != want.first {
			t.Errorf("%q: %q at once", typed, got)
		}
		waits := s.wait()
		if (waits == personTime) != want.person || (waits == 0) != (typed == "\x1b") {
			t.Errorf("%q: waits %v", typed, waits)
		}
		if got := s.timeout(); string(got) != want.late {
			t.Errorf("%q: %q later", typed, got)
		}
	}
}

// A paste whose end never came does not kill the key.
func TestPasteWithoutEnd(t *testing.T) {
	s := &keyScanner{keys: config.DetachKey{{Char: ']', Ctrl: true}}}
	s.scan([]byte("\x1b[200~text"))
	s.timeout()
	if _, detached := s.scan([]byte("\x1d")); !detached {
		t.Error("the key is dead")
	}
}

// Whatever is typed: nothing is lost, doubled or reordered until the key.
func FuzzKeyScanner(f *testing.F) {
	for _, c := range keyCases {
		f.Add([]byte(c.typed), uint8(3))
	}
	f.Fuzz(func(t *testing.T, typed []byte, chunk uint8) {
		s := &keyScanner{keys: config.DetachKey{{Char: 'p', Ctrl: true}, {Char: ']', Ctrl: true}}}
		var passed []byte
		for rest := typed; len(rest) > 0; {
			n := min(len(rest), int(chunk)+1)
			out, detached := s.scan(rest[:n])
			passed = append(passed, out...)
			if detached {
				if !bytes.HasPrefix(typed, passed) {
					t.Fatalf("%q passed as %q", typed, passed)
				}
				return
			}
			rest = rest[n:]
		}
		if passed = append(passed, s.timeout()...); !bytes.Equal(passed, typed) {
			t.Fatalf("%q passed as %q", typed, passed)
		}
	})
}

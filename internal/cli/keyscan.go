package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/coop-dev/coop/internal/config"
)

// keyScanner looks for the detach key in what a person types.
//
//	what comes                       what it does
//	the key, or one of its codes     counts it towards the detach key
//	a start of either                holds it back: flush, or the rest, decides
//	anything else                    passes it on, and what was held back first
//	a bracketed paste                passes all of it on: text is not typed
//	a key's release, a mere ctrl     passes it on with the rest, counts nothing
//
// Which code a terminal sends for a key depends on what the program inside has
// switched on: the plain byte 0x1d, CSI 93;5u (kitty, and xterm's
// formatOtherKeys), or CSI 27;5;93~ (xterm's modifyOtherKeys).
//
// A lone ESC is never held back, since that would delay the ESC key: when it
// turns out to have begun a code, the program has seen an ESC, no more.
type keyScanner struct {
	keys  config.DetachKey
	got   int    // of keys
	held  []byte // what belongs to those, and the start of a code
	code  []byte // the CSI sequence under way, a suffix of held but for its ESC
	esc   bool   // the byte before was an ESC, which has been passed on
	paste bool
}

// maxCode is longer than any code of a key; a longer sequence is none.
const maxCode = 40

// scan takes what was typed and gives what is to be passed on. With detached
// the rest of p is not for the program and is dropped.
func (s *keyScanner) scan(p []byte) (pass []byte, detached bool) {
	if len(s.keys) == 0 {
		return p, false
	}
	for _, b := range p {
		var out []byte
		if out, detached = s.step(b); detached {
			return pass, true
		}
		pass = append(pass, out...)
	}
	return pass, false
}

// How long to wait for the rest of a code, which a terminal sends at once, and
// for what a person does: the next key, or the end of a paste.
const (
	codeTime   = 50 * time.Millisecond
	personTime = time.Second
)

// wait is how long scan may have to wait before timeout decides; 0 is for ever.
func (s *keyScanner) wait() time.Duration {
	switch {
	case len(s.code) > 0 || s.esc && len(s.held) > 0:
		return codeTime
	case len(s.held) > 0 || s.paste:
		return personTime
	}
	return 0
}

// timeout gives up on what is held back. When nothing is, a paste never ended:
// without this the key would be dead from then on.
func (s *keyScanner) timeout() []byte {
	if len(s.held) == 0 {
		s.paste = false
	}
	return s.release()
}

func (s *keyScanner) release() []byte {
	out := s.held
	s.held, s.code, s.got, s.esc = nil, nil, 0, false
	return out
}

func (s *keyScanner) step(b byte) (pass []byte, detached bool) {
	switch {
	case len(s.code) > 0:
		return s.inCode(b)
	case s.esc && b == '[':
		s.esc = false
		s.code = []byte{b}
		s.held = append(s.held, b)
		return nil, false
	case b == 0x1b:
		return s.escape()
	}
	s.esc = false
	if s.paste {
		return []byte{b}, false
	}
	s.held = append(s.held, b)
	return s.press(func(k config.Key) bool { return k.Byte() == b }, 1)
}

// escape passes an ESC on at once, unless keys are held back: the order of what
// is typed stays.
func (s *keyScanner) escape() ([]byte, bool) {
	s.esc = true
	if len(s.held) > 0 {
		s.held = append(s.held, 0x1b)
		return nil, false
	}
	return []byte{0x1b}, false
}

// inCode adds a byte to a CSI sequence: parameters, then one final byte.
func (s *keyScanner) inCode(b byte) ([]byte, bool) {
	s.code = append(s.code, b)
	final := b >= 0x40 && b <= 0x7e
	switch {
	case !final && (b < 0x20 || b > 0x7e), len(s.code) > maxCode:
		return append(s.release(), b), false // no sequence of ours
	case !final:
		s.held = append(s.held, b)
		return nil, false
	}
	code := s.code
	s.code = nil
	return s.whole(code, b)
}

// whole judges a complete sequence, of which all but the last byte is held.
func (s *keyScanner) whole(code []byte, last byte) ([]byte, bool) {
	switch string(code) {
	case "[200~":
		s.paste = true
		return append(s.release(), last), false
	case "[201~":
		s.paste = false
		return append(s.release(), last), false
	}
	k, event, ok := decodeKey(code)
	s.held = append(s.held, last)
	switch {
	case s.paste || !ok || event == keyPassive && s.got == 0:
		return s.release(), false
	case event == keyPassive:
		return nil, false
	}
	return s.press(func(want config.Key) bool { return want == k }, len(code)+1)
}

// press counts the key that the last n bytes of held are. One that does not go
// on from the keys before it may still be the first.
func (s *keyScanner) press(is func(config.Key) bool, n int) ([]byte, bool) {
	if is(s.keys[s.got]) {
		s.got++
		return nil, s.got == len(s.keys)
	}
	if s.got == 0 || !is(s.keys[0]) {
		return s.release(), false
	}
	before := s.release()
	cut := len(before) - n
	s.held, s.got = before[cut:], 1
	return before[:cut:cut], false
}

// Events of a key, as kitty's protocol numbers them; passive is ours, for what
// is no decision.
const (
	keyPress = iota
	keyPassive
)

// The bits of a modifier parameter, less one. Locks do not matter.
const (
	modCtrl  = 4
	modLocks = 64 | 128 // caps, num
)

// decodeKey reads CSI code:…;mods:event;…u and CSI 27;mods;code~, without their
// ESC.
func decodeKey(code []byte) (k config.Key, event int, ok bool) {
	params := strings.Split(string(code[1:len(code)-1]), ";")
	var number, mods string
	switch last := code[len(code)-1]; {
	case last == 'u' && len(params) <= 3:
		number = params[0]
		if len(params) > 1 {
			mods = params[1]
		}
	case last == '~' && len(params) == 3 && params[0] == "27":
		mods, number = params[1], params[2]
	default:
		return config.Key{}, 0, false
	}
	return keyOf(number, mods)
}

func keyOf(number, mods string) (k config.Key, event int, ok bool) {
	number, _, _ = strings.Cut(number, ":") // shifted and base layout follow
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return config.Key{}, 0, false
	}
	mods, kind, _ := strings.Cut(mods, ":")
	bits := 1
	if mods != "" {
		if bits, err = strconv.Atoi(mods); err != nil || bits < 1 {
			return config.Key{}, 0, false
		}
	}
	held := (bits - 1) &^ modLocks
	switch {
	case kind == "3", n >= 57441 && n <= 57454, n >= 57358 && n <= 57360:
		return config.Key{}, keyPassive, true // released; a modifier; a lock
	case n == ' ' && held == modCtrl:
		n = '@'
	case n > '~', held&^modCtrl != 0:
		return config.Key{}, keyPress, true // some other key
	}
	return config.Key{Char: byte(n), Ctrl: held&modCtrl != 0}, keyPress, true
}

package screen

// modes are the switches a program sets. Those of the cursor (origin) are saved
// with it; synchronized output (2026) is a matter of drawing and has no state.
type modes struct {
	insert, newline    bool
	appCursor, keypad  bool
	reverseVideo       bool
	autowrap, hidden   bool
	focus, paste       bool
	mouse              int // 9, 1000, 1002, 1003 or 0: xterm has one at a time
	mouseCode          int // 1005, 1006, 1015, 1016 or 0, likewise
	blinking, altWheel triState
	shape              uint8 // DECSCUSR plus one, 0 if untouched
	otherKeys          uint8 // xterm's modifyOtherKeys
}

// triState is a mode whose default is the user's choice: it is touched in a
// viewer's terminal only if the program has touched it.
type triState uint8

const (
	untouched triState = iota
	off
	on
)

func (m *modes) reset() { *m = modes{autowrap: true} }

func (s *Screen) setModes(set bool) {
	for _, v := range s.params.v[:s.params.n] {
		switch v {
		case 4:
			s.insert = set
		case 20:
			s.newline = set
		}
	}
}

func (s *Screen) setPrivateModes(set bool) {
	for _, mode := range s.params.v[:s.params.n] {
		s.setPrivateMode(mode, set)
	}
}

func (s *Screen) setPrivateMode(mode int, set bool) {
	switch mode {
	case 1:
		s.appCursor = set
	case 5:
		s.reverseVideo = set
	case 6:
		s.origin = set
		s.moveTo(0, 0)
	case 7:
		s.autowrap = set
	case 12:
		s.blinking = tri(set)
	case 25:
		s.hidden = !set
	case 66:
		s.keypad = set
	case 9, 1000, 1002, 1003:
		s.mouse = choose(mode, set)
	case 1005, 1006, 1015, 1016:
		s.mouseCode = choose(mode, set)
	case 1004:
		s.focus = set
	case 1007:
		s.altWheel = tri(set)
	case 2004:
		s.paste = set
	case 47, 1047, 1048, 1049:
		s.setAlternate(mode, set)
	}
}

func tri(set bool) triState {
	if set {
		return on
	}
	return off
}

func choose(mode int, set bool) int {
	if set {
		return mode
	}
	return 0
}

// setAlternate switches screens. 1048 saves and restores the cursor, 1049 does
// both, in the slot of the main screen.
func (s *Screen) setAlternate(mode int, set bool) {
	if set && (mode == 1048 || mode == 1049) {
		if mode == 1048 || s.active == onMain {
			s.save()
		}
	}
	if mode != 1048 {
		if set {
			s.switchTo(onAlt)
		} else {
			s.switchTo(onMain)
		}
	}
	if !set && (mode == 1048 || mode == 1049) {
		s.restore()
	}
}

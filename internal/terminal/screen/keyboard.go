package screen

// keyboard is the stack of flags of the kitty keyboard protocol, one for each
// screen: without it a reattached program would get keys in a spelling it did
// not ask for. The zero value is one entry without flags.
type keyboard struct {
	flags [16]uint8
	depth int // index of the entry in use
}

const keyboardFlags = 1<<5 - 1

func (k *keyboard) csi(p *params) {
	flags := uint8(p.at(0, 0)) & keyboardFlags
	switch p.prefix {
	case '=':
		k.change(flags, p.at(1, 1))
	case '>':
		k.push(flags)
	case '<':
		k.pop(p.at(0, 1))
	}
}

func (k *keyboard) change(flags uint8, how int) {
	switch now := &k.flags[k.depth]; how {
	case 1:
		*now = flags
	case 2:
		*now |= flags
	case 3:
		*now &^= flags
	}
}

// push drops the oldest entry of a full stack, as the protocol says.
func (k *keyboard) push(flags uint8) {
	if k.depth == len(k.flags)-1 {
		copy(k.flags[:], k.flags[1:])
		k.depth--
	}
	k.depth++
	k.flags[k.depth] = flags
}

// pop of the last entry leaves no flags.
func (k *keyboard) pop(n int) {
	for ; n > 0; n-- {
		k.flags[k.depth] = 0
		if k.depth == 0 {
			return
		}
		k.depth--
	}
}

// setOtherKeys is XTMODKEYS, of which only modifyOtherKeys is in use.
func (s *Screen) setOtherKeys() {
	p := &s.params
	if p.v[0] != 0 && p.v[0] != 4 {
		return
	}
	if n := p.at(1, 0); n <= 3 {
		s.otherKeys = uint8(n)
	}
}

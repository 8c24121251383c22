package screen

// params are the parameters of a control sequence, bounded in number (as in
// xterm) and in value.
type params struct {
	prefix byte // one of < = > ? or 0
	inter  byte // the intermediate byte or 0
	n      int
	v      [32]int
	sub    [33]bool // v[i] was set off by a colon: it belongs to the one before
}

const maxParam = 65535

// parse reads what stands between CSI and the final byte. False: nothing that a
// terminal knows.
func (p *params) parse(b []byte) bool {
	p.prefix, p.inter, p.n = 0, 0, 0
	if len(b) > 0 && b[0] >= '<' && b[0] <= '?' {
		p.prefix, b = b[0], b[1:]
	}
	if n := len(b); n > 0 && b[n-1] < '0' {
		p.inter, b = b[n-1], b[:n-1]
	}
	p.start(false)
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			if i := p.n - 1; p.v[i] < maxParam {
				p.v[i] = p.v[i]*10 + int(c-'0')
			}
		case c == ';' || c == ':':
			if p.n == len(p.v) {
				return true // the rest is dropped
			}
			p.start(c == ':')
		default:
			return false
		}
	}
	return true
}

func (p *params) start(sub bool) {
	p.v[p.n], p.sub[p.n] = 0, sub
	p.n++
	p.sub[p.n] = false
}

// at is parameter i, or the default if it is missing or 0.
func (p *params) at(i, def int) int {
	if i >= p.n || p.v[i] == 0 {
		return def
	}
	return min(p.v[i], maxParam)
}

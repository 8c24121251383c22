package screen

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// A checkpoint is the snapshot, and in front of it what a snapshot must not say
// to a terminal:
//
//	magic, crc32 of the rest, columns, rows, faults,
//	title, title stack, tab stops, last character and its column,
//	the state, the bytes of a cut sequence and of a cut character
//
// Numbers are uvarints, strings have their length in front.
const magic = "coop screen 1\n"

// maxCheckpoint bounds what Load reads: the largest screen with a colour change
// in each cell is far below it.
const maxCheckpoint = 256 << 20

// Save returns a checkpoint from which Load makes an equal screen, also in the
// middle of a sequence or character.
func (s *Screen) Save() []byte {
	var b []byte
	for _, n := range []int{s.cols, s.rows, s.faults, int(s.last), s.lastX, len(s.stack)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, t := range append([]string{s.name}, s.stack...) {
		b = appendString(b, []byte(t))
	}
	for _, w := range s.tabs {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	var pending []byte
	if s.state != ground {
		pending = s.raw
	}
	b = appendString(b, pending)
	b = appendString(b, s.part[:s.nPart])
	b = appendString(b, s.appendState(nil))
	head := binary.LittleEndian.AppendUint32([]byte(magic), crc32.ChecksumIEEE(b))
	return append(head, b...)
}

func appendString(b, t []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(t))), t...)
}

var errDamaged = errors.New("load screen: damaged checkpoint")

// Load makes a screen of what Save returned.
func Load(b []byte) (*Screen, error) {
	const head = len(magic) + 4
	if len(b) < head || len(b) > maxCheckpoint || string(b[:len(magic)]) != magic {
		return nil, errors.New("load screen: not a checkpoint of this version")
	}
	if crc32.ChecksumIEEE(b[head:]) != binary.LittleEndian.Uint32(b[len(magic):]) {
		return nil, errDamaged
	}
	r := reader{b: b[head:]}
	s := r.screen()
	if r.bad || len(r.b) != 0 {
		return nil, errDamaged
	}
	return s, nil
}

// reader takes a checkpoint apart; once bad, it gives zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) screen() *Screen {
	cols, rows, faults := r.number(MaxCols), r.number(MaxRows), r.number(1<<31)
	last, lastX, depth := r.number(0x10ffff), r.number(MaxCols), r.number(maxTitleStack)
	t := title{name: cleanTitle(string(r.string()))}
	for range depth {
		t.stack = append(t.stack, cleanTitle(string(r.string())))
	}
	var tabs tabStops
	for i := range tabs {
		tabs[i] = r.word()
	}
	raw, part, state := r.string(), r.string(), r.string()
	s := New(cols, rows)
	s.Write(state)
	s.Write(raw)
	s.Write(part)
	if s.faults > 0 {
		r.bad = true
	}
	s.faults, s.title, s.tabs, s.last, s.lastX = faults, t, tabs, rune(last), min(lastX, s.cols-1)
	return s
}

func (r *reader) number(most int) int {
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v > uint64(most) {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return int(v)
}

func (r *reader) string() []byte {
	n := r.number(len(r.b))
	if n > len(r.b) {
		r.b, r.bad = nil, true
		return nil
	}
	t := r.b[:n]
	r.b = r.b[n:]
	return t
}

func (r *reader) word() uint64 {
	if len(r.b) < 8 {
		r.b, r.bad = nil, true
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

package store

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
)

// Kind is what an Event is.
type Kind uint16

// The kinds of events.
const (
	Resize Kind = 1 // the window got another size
	Reset  Kind = 2 // another program begins, with a blank screen
)

// Event is a change of the screen that is not output. It took place after all
// output before At and before everything after.
type Event struct {
	At         uint64
	Kind       Kind
	Cols, Rows int
}

const eventSize = 20

func (e Event) encode() []byte {
	b := make([]byte, 0, eventSize)
	b = binary.BigEndian.AppendUint64(b, e.At)
	b = binary.BigEndian.AppendUint16(b, uint16(e.Kind))
	b = binary.BigEndian.AppendUint16(b, uint16(e.Cols))
	b = binary.BigEndian.AppendUint16(b, uint16(e.Rows))
	b = append(b, 0, 0)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func decodeEvent(b []byte) (Event, bool) {
	if crc32.ChecksumIEEE(b[:16]) != binary.BigEndian.Uint32(b[16:]) {
		return Event{}, false
	}
	return Event{
		At: binary.BigEndian.Uint64(b), Kind: Kind(binary.BigEndian.Uint16(b[8:])),
		Cols: int(binary.BigEndian.Uint16(b[10:])), Rows: int(binary.BigEndian.Uint16(b[12:])),
	}, true
}

// readEvents reads whole records up to the first one that is not, which is
// where a killed writer stopped. It returns where the next one belongs.
func readEvents(f *os.File) (list []Event, end int64, err error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, maxEvents*eventSize))
	if err != nil {
		return nil, 0, err
	}
	for ; len(b) >= eventSize; b = b[eventSize:] {
		e, ok := decodeEvent(b[:eventSize])
		if !ok {
			break
		}
		list = append(list, e)
		end += eventSize
	}
	return list, end, nil
}

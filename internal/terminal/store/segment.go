package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"
)

const (
	magic     = "coopseg1"
	fixedSize = len(magic) + 12 // length of the description, length of the state, checksum of both

	maxDescription = 64 << 10
	maxState       = 64 << 20
)

var errDamaged = errors.New("damaged segment")

// Start describes where a segment begins.
type Start struct {
	Base     uint64 `json:"base"`     // offset of its first byte in the log
	Stream   string `json:"stream"`   // whose offsets the next one counts
	StreamAt uint64 `json:"streamAt"` // offset of its first byte there
	Cols     int    `json:"cols"`
	Rows     int    `json:"rows"`
	Blank    bool   `json:"blank,omitempty"` // nothing was on the screen
	State    []byte `json:"-"`               // of the screen
}

// segment is a Start that is on disk.
type segment struct {
	Start
	head int64 // length of what stands before the output
	size int64 // of the output
}

func (s segment) end() uint64 { return s.Base + uint64(s.size) }

func segmentName(base uint64) string { return fmt.Sprintf("%020d.seg", base) }
func eventsName(base uint64) string  { return fmt.Sprintf("%020d.ev", base) }

// baseOf reads the name of a segment.
func baseOf(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, ".seg")
	if !ok || len(digits) != 20 {
		return 0, false
	}
	base, err := strconv.ParseUint(digits, 10, 64)
	return base, err == nil
}

func encodeStart(s Start) ([]byte, error) {
	description, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if len(description) > maxDescription || len(s.State) > maxState {
		return nil, fmt.Errorf("segment header of %d and %d bytes", len(description), len(s.State))
	}
	b := append(make([]byte, 0, fixedSize+len(description)+len(s.State)), magic...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(description)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(s.State)))
	sum := crc32.Update(crc32.ChecksumIEEE(description), crc32.IEEETable, s.State)
	b = binary.BigEndian.AppendUint32(b, sum)
	return append(append(b, description...), s.State...), nil
}

// readStart reads and checks the beginning of a segment.
func readStart(f *os.File) (segment, error) {
	var fixed [fixedSize]byte
	if _, err := f.ReadAt(fixed[:], 0); err != nil {
		return segment{}, damaged(err)
	}
	n, state := binary.BigEndian.Uint32(fixed[8:]), binary.BigEndian.Uint32(fixed[12:])
	info, err := f.Stat()
	if err != nil {
		return segment{}, err
	}
	if string(fixed[:8]) != magic || n > maxDescription || state > maxState || int64(fixedSize)+int64(n)+int64(state) > info.Size() {
		return segment{}, errDamaged
	}
	b := make([]byte, n+state)
	if _, err := f.ReadAt(b, int64(fixedSize)); err != nil {
		return segment{}, damaged(err)
	}
	s := segment{head: int64(fixedSize) + int64(len(b))}
	if crc32.ChecksumIEEE(b) != binary.BigEndian.Uint32(fixed[16:]) || json.Unmarshal(b[:n], &s.Start) != nil {
		return segment{}, errDamaged
	}
	s.State = b[n:]
	s.size = info.Size() - s.head
	return s, nil
}

// damaged tells a file that is too short from one that cannot be read.
func damaged(err error) error {
	if errors.Is(err, io.EOF) {
		return errDamaged
	}
	return err
}

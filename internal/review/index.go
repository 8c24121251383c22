package review

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// blob is a file as git's index knows it.
type blob struct {
	Mode uint32
	Hash string
}

// maxIndexPath bounds a name in an index; the file may be anybody's.
const maxIndexPath = 1 << 16

var errIndex = errors.New("not a git index that can be read")

// findInIndex looks paths up in an index (versions 2 to 4, gitformat-index(5)).
// It reads once through, whatever the size.
func findInIndex(f *os.File, hashSize int, wanted map[string]bool) (map[string]blob, error) {
	r := bufio.NewReaderSize(f, 1<<20)
	head := make([]byte, 12)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[8:])
	if string(head[:4]) != "DIRC" || version < 2 || version > 4 {
		return nil, errIndex
	}
	found := map[string]blob{}
	x := indexReader{r: r, version: version, hashSize: hashSize}
	for range count {
		stage, b, err := x.next()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errIndex, err)
		}
		if stage == 0 && wanted[string(x.name)] {
			found[string(x.name)] = b
		}
	}
	return found, nil
}

type indexReader struct {
	r        *bufio.Reader
	version  uint32
	hashSize int
	name     []byte // of the entry before; version 4 builds upon it
}

func (x *indexReader) next() (stage int, b blob, err error) {
	fixed := make([]byte, 40+x.hashSize+2) // stat data, hash, flags
	if _, err := io.ReadFull(x.r, fixed); err != nil {
		return 0, b, err
	}
	b = blob{Mode: binary.BigEndian.Uint32(fixed[24:]), Hash: hex.EncodeToString(fixed[40 : 40+x.hashSize])}
	flags := binary.BigEndian.Uint16(fixed[40+x.hashSize:])
	size := len(fixed)
	if flags&0x4000 != 0 && x.version >= 3 { // extended
		if _, err := x.r.Discard(2); err != nil {
			return 0, b, err
		}
		size += 2
	}
	return int(flags >> 12 & 3), b, x.readName(size)
}

// readName reads up to the zero byte, and the padding versions 2 and 3 have.
func (x *indexReader) readName(size int) error {
	if x.version == 4 {
		strip, err := x.offset()
		if err != nil || strip > uint64(len(x.name)) {
			return errors.Join(errIndex, err)
		}
		x.name = x.name[:len(x.name)-int(strip)]
	} else {
		x.name = x.name[:0]
	}
	own := 0
	for {
		c, err := x.r.ReadByte()
		if err != nil {
			return err
		}
		if c == 0 {
			break
		}
		own++
		if x.name = append(x.name, c); len(x.name) > maxIndexPath {
			return errIndex
		}
	}
	if x.version == 4 {
		return nil
	}
	pad := 8 - (size+own)%8 // one to eight zero bytes, of which one is read
	_, err := x.r.Discard(pad - 1)
	return err
}

// offset is git's variable-length number, as in packs.
func (x *indexReader) offset() (uint64, error) {
	c, err := x.r.ReadByte()
	if err != nil {
		return 0, err
	}
	n := uint64(c & 0x7f)
	for i := 0; c&0x80 != 0; i++ {
		if i > 8 {
			return 0, errIndex
		}
		if c, err = x.r.ReadByte(); err != nil {
			return 0, err
		}
		n = (n+1)<<7 | uint64(c&0x7f)
	}
	return n, nil
}

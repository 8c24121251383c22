// Package manifest writes down what a copied tree was when it was made, so that a
// diff can tell later which of its files were touched, without reading them: a
// file with the same inode, size and ctime as then was not. Times of modification
// can be set by anybody, ctime by nobody.
//
//	magic
//	one block a directory: count, then per name: name, mode, inode, size, mtime, ctime
//	the index: count, then per directory: path, offset of its block
//	offset of the index (8 bytes), magic
//
// Numbers are varints, strings have their length in front.
package manifest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

const magic = "coop-manifest-1\n"

// Entry is one name of a directory. Times are nanoseconds since 1970.
type Entry struct {
	Name         string
	Mode         fs.FileMode
	Ino          uint64
	Size         int64
	MTime, CTime int64
}

// Writer writes a manifest, directory by directory in any order.
type Writer struct {
	w     *bufio.Writer
	off   uint64
	index []place
	err   error
}

type place struct {
	path string
	off  uint64
}

// NewWriter begins a manifest.
func NewWriter(w io.Writer) *Writer {
	m := &Writer{w: bufio.NewWriterSize(w, 1<<18)}
	m.write([]byte(magic))
	return m
}

func (m *Writer) write(b []byte) {
	if m.err == nil {
		_, m.err = m.w.Write(b)
		m.off += uint64(len(b))
	}
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// Dir writes one directory; "" is the top.
func (m *Writer) Dir(path string, entries []Entry) error {
	m.index = append(m.index, place{path, m.off})
	b := binary.AppendUvarint(nil, uint64(len(entries)))
	for _, e := range entries {
		b = appendString(b, e.Name)
		b = binary.AppendUvarint(b, uint64(e.Mode))
		b = binary.AppendUvarint(b, e.Ino)
		b = binary.AppendUvarint(b, uint64(e.Size))
		b = binary.AppendVarint(b, e.MTime)
		b = binary.AppendVarint(b, e.CTime)
	}
	m.write(b)
	return m.err
}

// Close completes the manifest; one without its end is refused by Open.
func (m *Writer) Close() error {
	at := m.off
	b := binary.AppendUvarint(nil, uint64(len(m.index)))
	for _, p := range m.index {
		b = binary.AppendUvarint(appendString(b, p.path), p.off)
	}
	m.write(append(binary.BigEndian.AppendUint64(b, at), magic...))
	if m.err != nil {
		return m.err
	}
	return m.w.Flush()
}

// Manifest is an opened one. Only the names of directories are in memory.
type Manifest struct {
	r    io.ReaderAt
	dirs map[string]uint64
	end  int64 // of the blocks
	file *os.File
}

// ErrDamaged is the answer to a file that is not a whole manifest.
var ErrDamaged = errors.New("the manifest is damaged")

// Open reads the index.
func Open(path string) (*Manifest, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	m, err := load(f, st.Size())
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	m.file = f
	return m, nil
}

// Close closes the file.
func (m *Manifest) Close() error { return m.file.Close() }

// load reads the index of a manifest of this size.
func load(r io.ReaderAt, size int64) (*Manifest, error) {
	m := &Manifest{r: r, dirs: map[string]uint64{}}
	tail := make([]byte, 8+len(magic))
	if size < int64(len(tail)) {
		return nil, ErrDamaged
	}
	if _, err := r.ReadAt(tail, size-int64(len(tail))); err != nil || string(tail[8:]) != magic {
		return nil, ErrDamaged
	}
	at := binary.BigEndian.Uint64(tail)
	if at > uint64(size) {
		return nil, ErrDamaged
	}
	m.end = int64(at)
	if err := m.readIndex(bufio.NewReader(io.NewSectionReader(r, m.end, size-m.end-int64(len(tail))))); err != nil {
		return nil, ErrDamaged
	}
	return m, nil
}

func (m *Manifest) readIndex(r *bufio.Reader) error {
	n, err := binary.ReadUvarint(r)
	for ; err == nil && n > 0; n-- {
		var path string
		if path, err = readString(r); err == nil {
			m.dirs[path], err = binary.ReadUvarint(r)
		}
	}
	return err
}

// maxString is longer than any path or name.
const maxString = 1 << 16

func readString(r *bufio.Reader) (string, error) {
	n, err := binary.ReadUvarint(r)
	if err != nil || n > maxString {
		return "", ErrDamaged
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r, b)
	return string(b), err
}

// Dir reads what was in a directory; ok is false for one that was not there.
func (m *Manifest) Dir(path string) (entries map[string]Entry, ok bool, err error) {
	off, ok := m.dirs[path]
	if !ok {
		return nil, false, nil
	}
	if off > uint64(m.end) {
		return nil, true, ErrDamaged
	}
	r := bufio.NewReader(io.NewSectionReader(m.r, int64(off), m.end-int64(off)))
	n, err := binary.ReadUvarint(r)
	entries = map[string]Entry{}
	for ; err == nil && n > 0; n-- {
		var e Entry
		e, err = readEntry(r)
		entries[e.Name] = e
	}
	if err != nil {
		return nil, true, fmt.Errorf("%w: directory %q", ErrDamaged, path)
	}
	return entries, true, nil
}

func readEntry(r *bufio.Reader) (e Entry, err error) {
	if e.Name, err = readString(r); err != nil {
		return e, err
	}
	var mode, size uint64
	for _, to := range []*uint64{&mode, &e.Ino, &size} {
		if *to, err = binary.ReadUvarint(r); err != nil {
			return e, err
		}
	}
	e.Mode, e.Size = fs.FileMode(mode), int64(size)
	for _, to := range []*int64{&e.MTime, &e.CTime} {
		if *to, err = binary.ReadVarint(r); err != nil {
			return e, err
		}
	}
	return e, nil
}

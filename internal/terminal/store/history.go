package store

import (
	"errors"
	"io"
	"os"
)

// History is the output that is stored, from the oldest byte on, as it was
// when it was opened. Segments removed meanwhile stay readable.
type History struct {
	parts []part
	size  int64
	end   uint64
}

type part struct {
	file  *os.File
	head  int64 // where its output begins in the file
	first int64 // where it begins in the history
	size  int64
}

// History opens what is stored now.
func (l *Log) History() (*History, error) {
	h := &History{end: l.End()}
	for _, s := range l.segments {
		f, err := l.root.Open(segmentName(s.Base))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
		h.parts = append(h.parts, part{f, s.head, h.size, s.size})
		h.size += s.size
	}
	return h, nil
}

// Size is how many bytes there are.
func (h *History) Size() int64 { return h.size }

// End is the offset in the log at which it ends.
func (h *History) End() uint64 { return h.end }

// ReadAt reads across segments.
func (h *History) ReadAt(p []byte, off int64) (n int, err error) {
	for _, part := range h.parts {
		if n == len(p) || off >= part.first+part.size || off < part.first {
			continue
		}
		want := p[n:min(len(p), n+int(min(part.first+part.size-off, int64(len(p)))))]
		got, err := part.file.ReadAt(want, part.head+off-part.first)
		n, off = n+got, off+int64(got)
		if err != nil && got < len(want) {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close may be called twice.
func (h *History) Close() error {
	for _, p := range h.parts {
		_ = p.file.Close() // only read
	}
	h.parts, h.size = nil, 0
	return nil
}

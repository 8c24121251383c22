package review

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"

	"github.com/coop-dev/coop/internal/sandbox"
)

// inMemory is how large content may be to be kept in memory; larger content is
// kept in a file without a name.
const inMemory = 1 << 20

// maxFile is the largest file that is applied where the policy says nothing: a
// sparse file of a petabyte must not fill the disk.
const maxFile = 4 << 30

// maxMemory is how much of it all one request keeps in memory.
const maxMemory = 64 << 20

// Scratch keeps the content one request works on: small files in memory as long
// as there are not too many, the rest in a file without a name.
type Scratch struct {
	Dir    string // where that file is made
	file   *os.File
	end    int64
	memory int64
}

// Close frees the disk space.
func (s *Scratch) Close() {
	if s.file != nil {
		_ = s.file.Close() // it has no name: that is its end
	}
}

// Body is content as it was read once, from a file that its sandbox may be
// writing to this very moment. What was judged is what is applied.
type Body struct {
	data []byte
	file *os.File // of the Scratch, when it is not in memory
	at   int64
	size int64
	Sum  [sha256.Size]byte
}

// NewBody is content from memory.
func NewBody(data []byte) *Body {
	return &Body{data: data, size: int64(len(data)), Sum: sha256.Sum256(data)}
}

// Read reads a file to its end. Beyond limit it is refused.
func (s *Scratch) Read(f *os.File, limit int64) (*Body, error) {
	data, err := io.ReadAll(io.LimitReader(f, min(inMemory, limit)+1))
	if err != nil {
		return nil, err
	}
	switch {
	case int64(len(data)) > limit:
		return nil, tooLarge(f, limit)
	case len(data) <= inMemory && s.memory+int64(len(data)) <= maxMemory:
		s.memory += int64(len(data))
		return NewBody(data), nil
	}
	return s.spill(data, f, limit)
}

// spill writes what has been read, and what follows, to the file.
func (s *Scratch) spill(head []byte, f *os.File, limit int64) (*Body, error) {
	if info, err := f.Stat(); err != nil || info.Size() > limit {
		return nil, tooLarge(f, limit) // before a sparse file is read for an hour
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	if _, err := s.file.Seek(s.end, io.SeekStart); err != nil {
		return nil, err
	}
	sum := sha256.New()
	both := io.MultiWriter(s.file, sum)
	if _, err := both.Write(head); err != nil {
		return nil, err
	}
	n, err := io.Copy(both, io.LimitReader(f, limit-int64(len(head))+1))
	if err != nil {
		return nil, err
	}
	b := &Body{file: s.file, at: s.end, size: int64(len(head)) + n}
	sum.Sum(b.Sum[:0])
	if b.size > limit {
		return nil, tooLarge(f, limit)
	}
	s.end += b.size
	return b, nil
}

func (s *Scratch) open() error {
	if s.file != nil {
		return nil
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.Dir, "scratch-")
	if err != nil {
		return err
	}
	s.file = f
	return os.Remove(f.Name())
}

func tooLarge(f *os.File, limit int64) error {
	return sandbox.Errorf(sandbox.TooLarge, "%.128q is larger than %d bytes", f.Name(), limit).
		WithHint("copy it with coop cp, or raise review.maxFileBytes")
}

// Size is its length in bytes.
func (b *Body) Size() int64 { return b.size }

// Bytes gives content that is small enough for a text to be merged.
func (b *Body) Bytes() ([]byte, error) {
	if b.file == nil {
		return b.data, nil
	}
	if b.size > inMemory {
		return nil, errors.New("too large to be merged line by line")
	}
	data := make([]byte, b.size)
	_, err := b.file.ReadAt(data, b.at)
	return data, err
}

// writeTo writes it, calling step after each piece.
func (b *Body) writeTo(w *os.File, step func()) error {
	if b.file == nil {
		if len(b.data) == 0 {
			return nil
		}
		_, err := w.Write(b.data)
		step()
		return err
	}
	n, err := io.Copy(w, io.NewSectionReader(b.file, b.at, b.size)) // others read from the file too
	step()
	if err == nil && n != b.size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

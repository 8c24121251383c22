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

// Body is content as it was read once, from a file that its sandbox may be
// writing to this very moment. What was judged is what is applied.
type Body struct {
	data []byte
	file *os.File // when it does not fit into memory
	size int64
	Sum  [sha256.Size]byte
}

// NewBody is content from memory.
func NewBody(data []byte) *Body {
	return &Body{data: data, size: int64(len(data)), Sum: sha256.Sum256(data)}
}

// ReadBody reads a file to its end. Beyond limit it is refused; scratch is the
// directory where large content is kept meanwhile.
func ReadBody(f *os.File, scratch string, limit int64) (*Body, error) {
	data, err := io.ReadAll(io.LimitReader(f, inMemory+1))
	if err != nil {
		return nil, err
	}
	if len(data) <= inMemory {
		return NewBody(data), nil
	}
	return spill(data, f, scratch, limit)
}

func spill(head []byte, f *os.File, scratch string, limit int64) (b *Body, err error) {
	if info, err := f.Stat(); err != nil || info.Size() > limit {
		return nil, tooLarge(f, limit) // before a sparse file is read for an hour
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return nil, err
	}
	out, err := os.CreateTemp(scratch, "body-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			out.Close()
		}
	}()
	if err := os.Remove(out.Name()); err != nil {
		return nil, err
	}
	sum := sha256.New()
	both := io.MultiWriter(out, sum)
	if _, err := both.Write(head); err != nil {
		return nil, err
	}
	n, err := io.Copy(both, io.LimitReader(f, limit-int64(len(head))+1))
	if err != nil {
		return nil, err
	}
	b = &Body{file: out, size: int64(len(head)) + n}
	sum.Sum(b.Sum[:0])
	if b.size > limit {
		return nil, tooLarge(f, limit)
	}
	return b, nil
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
	return nil, errors.New("too large to be merged line by line")
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
	if _, err := b.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(w, b.file) // copy_file_range where both filesystems can
	step()
	if err == nil && n != b.size {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// Close frees the disk space of large content.
func (b *Body) Close() {
	if b != nil && b.file != nil {
		_ = b.file.Close() // it has no name: that is its end
	}
}

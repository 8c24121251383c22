package unpack

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/layerdir"
	"github.com/coop-dev/coop/internal/sandbox"
)

func (u *unpacker) file(p string, at layerdir.Place, h *tar.Header, content io.Reader) error {
	// The size of a sparse file is not in the stream, so it is bounded here.
	if u.result.Bytes += h.Size; h.Size < 0 || u.result.Bytes > u.Limits.Bytes || u.result.Bytes < 0 {
		return errBomb
	}
	f, err := u.tree.Create(at)
	if errors.Is(err, syscall.EEXIST) {
		if err := u.replace(p, at); err != nil {
			return err
		}
		f, err = u.tree.Create(at)
	}
	if err != nil {
		return err
	}
	m := u.meta(h)
	err = u.copy(f, content, h.Size)
	if err == nil {
		err = f.Own(m.UID, m.GID) // before the attributes: it clears capabilities
	}
	if err == nil {
		err = u.attributes(h, f.Attr)
	}
	if err != nil {
		f.Close()
		return err
	}
	return f.Finish(m)
}

// hole is the smallest run of zeros that is not written; block what a file
// system allocates.
const (
	hole  = 4096
	block = 4096
)

// copy writes the content, leaving holes where it is zero: sparse files stay so.
func (u *unpacker) copy(f layerdir.File, r io.Reader, size int64) error {
	buf := u.buffer()
	off, written := int64(0), int64(0)
	for off < size {
		n, err := io.ReadFull(r, buf[:min(int64(len(buf)), size-off)])
		if err != nil {
			return err
		}
		for b := buf[:n]; len(b) > 0; {
			data, rest := upToHole(b)
			if err := f.WriteAt(data, off); err != nil {
				return err
			}
			off += int64(len(data))
			u.result.DiskBytes += (int64(len(data)) + block - 1) / block * block
			if len(data) > 0 {
				written = off
			}
			rest, zeros := skipHole(rest)
			off += zeros
			b = rest
		}
	}
	if off != size {
		return sandbox.Errorf(sandbox.Invalid, "more content than its size says")
	}
	if written == size {
		return nil
	}
	return f.Truncate(size)
}

// upToHole splits before the first whole block of zeros.
func upToHole(b []byte) (data, rest []byte) {
	for i := 0; i+hole <= len(b); i += hole {
		if zero(b[i : i+hole]) {
			return b[:i], b[i:]
		}
	}
	return b, nil
}

// skipHole drops whole blocks of zeros.
func skipHole(b []byte) (rest []byte, skipped int64) {
	for len(b) >= hole && zero(b[:hole]) {
		b, skipped = b[hole:], skipped+hole
	}
	return b, skipped
}

// zero reports whether a block is all zeros, almost always after one byte.
func zero(b []byte) bool {
	return b[0] == 0 && bytes.Equal(b[:len(b)-1], b[1:])
}

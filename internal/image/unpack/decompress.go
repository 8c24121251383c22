package unpack

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/coop-dev/coop/internal/sandbox"
)

// maxWindow bounds what zstd keeps in memory; the format's tools default to 8 MiB.
const maxWindow = 128 << 20

// decompress looks at the first bytes, not at what a manifest claims: Docker
// does the same, and some manifests are wrong.
func decompress(r io.Reader) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(r, 1<<20)
	magic, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case isGzip(magic):
		return gzip.NewReader(b)
	case isZstd(magic):
		d, err := zstd.NewReader(b, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(2))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	case isForeign(magic):
		return nil, sandbox.Errorf(sandbox.Unsupported, "the layer is compressed with bzip2 or xz").
			WithHint("gzip, zstd and no compression are understood")
	}
	return io.NopCloser(b), nil
}

// Compressed looks at the first bytes of a file and goes back to its beginning.
func Compressed(f io.ReadSeeker) (bool, error) {
	magic := make([]byte, 4)
	n, err := io.ReadFull(f, magic)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return false, err
	}
	magic = magic[:n]
	_, err = f.Seek(0, io.SeekStart)
	return isGzip(magic) || isZstd(magic) || isForeign(magic), err
}

// Decompress writes a stream without its compression, within the limits.
func Decompress(ctx context.Context, w io.Writer, r io.Reader, size int64, l Limits) error {
	raw, err := decompress(r)
	if err != nil {
		return broken(err)
	}
	defer raw.Close()
	_, err = io.Copy(w, &bounded{r: interruptible{ctx, raw}, left: l.allowed(size)})
	if err != nil {
		return broken(err)
	}
	return nil
}

func isGzip(magic []byte) bool { return bytes.HasPrefix(magic, []byte{0x1f, 0x8b}) }

func isZstd(magic []byte) bool { return bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) }

func isForeign(magic []byte) bool {
	return bytes.HasPrefix(magic, []byte("BZh")) || bytes.HasPrefix(magic, []byte("\xfd7zX"))
}

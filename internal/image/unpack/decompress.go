package unpack

import (
	"bufio"
	"bytes"
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
	magic, err := b.Peek(6)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return gzip.NewReader(b)
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(b, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(2))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	case bytes.HasPrefix(magic, []byte("BZh")), bytes.HasPrefix(magic, []byte("\xfd7zXZ\x00")):
		return nil, sandbox.Errorf(sandbox.Unsupported, "the layer is compressed with bzip2 or xz").
			WithHint("gzip, zstd and no compression are understood")
	}
	return io.NopCloser(b), nil
}

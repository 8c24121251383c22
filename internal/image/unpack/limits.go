package unpack

import (
	"io"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Limits bound one layer.
type Limits struct {
	Bytes   int64 // uncompressed, and the sizes of its files together
	Ratio   int64 // uncompressed to compressed, once Floor is passed
	Floor   int64
	Entries int
}

// DefaultLimits let every honest image through that is known: gzip cannot
// expand more than a thousandfold, and layers of programs expand three- to
// tenfold.
func DefaultLimits() Limits {
	return Limits{Bytes: 64 << 30, Ratio: 200, Floor: 1 << 30, Entries: 4 << 20}
}

// allowed is how many bytes a blob of this size may become.
func (l Limits) allowed(compressed int64) int64 {
	return min(l.Bytes, max(l.Floor, l.Ratio*compressed))
}

// bounded fails when a stream is longer than it may be.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errBomb
	}
	return n, err
}

var errBomb = sandbox.Errorf(sandbox.TooLarge, "the layer expands to more than it may").
	WithHint("it looks like a decompression bomb; nothing of it was kept")

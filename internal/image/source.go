package image

import (
	"context"
	"io"
)

// source is where an image comes from.
type source interface {
	// small gives a blob that fits into memory, checked.
	small(ctx context.Context, b blobRef) ([]byte, error)

	// blob gives a layer's blob, checked, or to be checked while it is read. The
	// report is called with how many bytes of it are here.
	blob(ctx context.Context, b blobRef, report func(int64)) (blob, error)
}

// blob is a layer's bytes, ready to be read once.
type blob struct {
	io.Reader
	size  int64
	check func() error // after the last byte; nil: nothing to check
	close func(done bool)
}

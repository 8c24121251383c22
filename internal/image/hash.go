package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// hashAll gives the hex SHA-256 of a stream.
func hashAll(ctx context.Context, r io.Reader) (string, error) {
	sum := sha256.New()
	buf := make([]byte, 1<<20)
	for {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		n, err := r.Read(buf)
		sum.Write(buf[:n])
		if err == io.EOF {
			return hex.EncodeToString(sum.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

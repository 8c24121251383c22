package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"

	"github.com/coop-dev/coop/internal/sandbox"
)

// layout is an OCI layout: blobs by digest, and an index. Links in it lead
// nowhere outside of it.
type layout struct {
	open func(name string) (io.ReadCloser, error)
}

// importLayout reads one from a directory.
func (s *Store) importLayout(ctx context.Context, dir, ref string, report func(Progress)) (Image, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Image{}, unreadable(dir, err)
	}
	defer root.Close()
	ref, err = importName(ref, "oci:"+dir)
	if err != nil {
		return Image{}, err
	}
	l := layout{func(name string) (io.ReadCloser, error) { return regular(root, name) }}
	return s.fromLayout(ctx, l, ref, report)
}

// regular opens an ordinary file: a fifo would be waited for.
func regular(root *os.Root, name string) (io.ReadCloser, error) {
	st, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, sandbox.Errorf(sandbox.Invalid, "%s is no ordinary file", name)
	}
	return root.Open(name)
}

func (s *Store) fromLayout(ctx context.Context, l layout, ref string, report func(Progress)) (Image, error) {
	raw, err := l.read("index.json", s.Limits.ManifestBytes)
	if err != nil {
		return Image{}, sandbox.Errorf(sandbox.Invalid, "no OCI layout: %w", err).
			WithHint("oci:DIR is a directory with index.json and blobs in it")
	}
	p, err := s.narrow(raw, "application/vnd.oci.image.index.v1+json", func(digest string) ([]byte, string, error) {
		b, err := l.read("blobs/sha256/"+hexOf(digest), s.Limits.ManifestBytes)
		return b, "", err
	})
	if err != nil {
		return Image{}, err
	}
	return s.fetch(ctx, l, p, ref, report)
}

// read gives a whole small file.
func (l layout) read(name string, most int64) ([]byte, error) {
	f, err := l.open(name)
	if err != nil {
		return nil, sandbox.Errorf(sandbox.Invalid, "%s is not in the image: %w", name, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		return nil, sandbox.Errorf(sandbox.TooLarge, "%s is larger than %d bytes", name, most)
	}
	return b, err
}

// small implements source.
func (l layout) small(_ context.Context, b blobRef) ([]byte, error) {
	raw, err := l.read("blobs/sha256/"+hexOf(b.Digest), b.Size)
	if err != nil {
		return nil, err
	}
	if got := digestOf(raw); got != b.Digest {
		return nil, wrongFile(b.Digest, got)
	}
	return raw, nil
}

// blob implements source. The digest is checked when the layer is unpacked:
// before that nobody uses it.
func (l layout) blob(_ context.Context, b blobRef, _ func(int64)) (blob, error) {
	f, err := l.open("blobs/sha256/" + hexOf(b.Digest))
	if err != nil {
		return blob{}, sandbox.Errorf(sandbox.Invalid, "layer %.12s is not in the image: %w", hexOf(b.Digest), err)
	}
	sum := sha256.New()
	all := io.TeeReader(io.LimitReader(f, b.Size+1), sum)
	return blob{
		Reader: all, size: b.Size,
		check: func() error {
			if _, err := io.Copy(io.Discard, all); err != nil { // what follows the compressed data
				return err
			}
			if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != b.Digest {
				return wrongFile(b.Digest, got)
			}
			return nil
		},
		close: func(bool) { f.Close() },
	}, nil
}

func wrongFile(want, got string) error {
	return sandbox.Errorf(sandbox.Invalid, "the image is damaged: a file has digest %s, not %s", got, want)
}

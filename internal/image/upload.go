package image

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Upload takes over an archive that comes as a stream: what Import takes as a
// file. Without a reference the archive's own name is it.
func (s *Store) Upload(ctx context.Context, archive io.Reader, ref string, report func(Progress)) (Image, error) {
	f, err := os.CreateTemp(s.tmp(), "upload-")
	if err != nil {
		return Image{}, err
	}
	defer os.Remove(f.Name()) // at worst the next start removes it
	n, err := io.Copy(f, io.LimitReader(archive, s.Limits.ImageBytes+1))
	err = errors.Join(err, f.Close())
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return Image{}, sandbox.Errorf(sandbox.Unavailable, "the disk is full: %w", err).
			WithHint("free some space where COOP_HOME is: coop image prune removes images nobody uses")
	case err != nil:
		return Image{}, err
	case n > s.Limits.ImageBytes:
		return Image{}, sandbox.Errorf(sandbox.TooLarge, "the archive is larger than %d GiB", s.Limits.ImageBytes>>30)
	}
	return s.importArchive(ctx, f.Name(), ref, "", report)
}

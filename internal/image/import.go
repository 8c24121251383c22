package image

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/coop-dev/coop/internal/sandbox"
)

// ImportRequest asks for an image that is a file or directory here.
type ImportRequest struct {
	// Source is "oci:DIR" for an OCI layout, or "tar:FILE" or just a path for an
	// OCI archive, a Docker archive or a root filesystem. Absolute.
	Source string
	// Reference is what the image is called; empty: the name an archive gives,
	// else Source.
	Reference string
}

// Import takes an image over. report is called from one goroutine at a time.
func (s *Store) Import(ctx context.Context, req ImportRequest, report func(Progress)) (Image, error) {
	kind, path := splitSource(req.Source)
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return Image{}, sandbox.Errorf(sandbox.Invalid, "source %.128q is not an absolute path", req.Source).
			WithHint("oci:DIR for a directory, tar:FILE for an archive")
	}
	st, err := os.Stat(path)
	if err != nil {
		return Image{}, unreadable(path, err)
	}
	if st.IsDir() {
		if kind == "tar" {
			return Image{}, sandbox.Errorf(sandbox.Invalid, "%s is a directory", path).WithHint("oci:DIR is an OCI layout")
		}
		return s.importLayout(ctx, path, req.Reference, report)
	}
	if kind == "oci" || !st.Mode().IsRegular() {
		return Image{}, sandbox.Errorf(sandbox.Invalid, "%s is not what it is said to be", path).
			WithHint("oci:DIR for a directory, tar:FILE for an archive")
	}
	return s.importArchive(ctx, path, req.Reference, "tar:"+path, report)
}

func splitSource(s string) (kind, path string) {
	for _, k := range []string{"oci", "tar"} {
		if rest, ok := strings.CutPrefix(s, k+":"); ok {
			return k, rest
		}
	}
	return "", s
}

func unreadable(path string, err error) error {
	code := sandbox.Invalid
	if errors.Is(err, fs.ErrPermission) {
		code = sandbox.Denied
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return sandbox.Errorf(code, "%s: %w", path, err).WithHint("name an image that is a file or directory of yours")
}

// importName is what an imported image is called.
func importName(asked, fallback string) (string, error) {
	if asked == "" {
		asked = fallback
	}
	if asked == "" {
		return "", sandbox.Errorf(sandbox.Invalid, "the archive has no name of its own").WithHint("give the image one, such as tool:1")
	}
	r, err := ParseReference(asked)
	return r.text, err
}

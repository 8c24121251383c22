package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/coop-dev/coop/internal/image/unpack"
	"github.com/coop-dev/coop/internal/sandbox"
)

// archive is a tar file and where in it each file lies.
type archive struct {
	file  *os.File
	size  int64
	files map[string]span
	links map[string]string
}

type span struct{ at, size int64 }

// maxArchiveFiles is more than an image of 500 layers needs. A root filesystem
// may have more; it has none of the names we look for, and they are not kept.
const (
	maxArchiveFiles = 10_000
	maxArchiveName  = 1024
)

// importArchive finds out what a tar is and takes it over, under the name asked
// for, the archive's own, or the fallback.
func (s *Store) importArchive(ctx context.Context, file, ref, fallback string, report func(Progress)) (Image, error) {
	f, err := os.Open(file)
	if err != nil {
		return Image{}, unreadable(file, err)
	}
	defer f.Close()
	plain, err := s.plainTar(ctx, f)
	if err != nil {
		return Image{}, err
	}
	defer plain.Close()
	a, err := readArchive(ctx, plain)
	if err != nil {
		return Image{}, err
	}
	switch {
	case a.has("index.json") && a.has("oci-layout"):
		name, err := importName(ref, fallback)
		if err != nil {
			return Image{}, err
		}
		return s.fromLayout(ctx, layout{a.open}, name, report)
	case a.has("manifest.json"):
		return s.fromDocker(ctx, a, ref, fallback, report)
	}
	return s.fromRootfs(ctx, a, ref, fallback, report)
}

// plainTar is the archive without compression: itself, or a copy that has no
// name any more.
func (s *Store) plainTar(ctx context.Context, f *os.File) (*os.File, error) {
	compressed, err := unpack.Compressed(f)
	if err != nil {
		return nil, err
	}
	if !compressed {
		return f, nil // closed twice, which does no harm
	}
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tmp, err := os.CreateTemp(s.tmp(), "import-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(tmp.Name()) // the descriptor keeps it; a crash leaves nothing
	if err := unpack.Decompress(ctx, tmp, f, st.Size(), s.Limits.Layer); err != nil {
		tmp.Close()
		return nil, err
	}
	return tmp, nil
}

// readArchive lists the files.
func readArchive(ctx context.Context, f *os.File) (*archive, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	a := &archive{file: f, size: st.Size(), files: map[string]span{}, links: map[string]string{}}
	section := io.NewSectionReader(f, 0, st.Size())
	r := tar.NewReader(section)
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		h, err := r.Next()
		if err == io.EOF {
			return a, nil
		}
		if err != nil {
			return nil, sandbox.Errorf(sandbox.Invalid, "%s is no tar archive: %w", path.Base(f.Name()), err).
				WithHint("an OCI archive, a Docker archive (docker save) or a root filesystem, plain, gzip or zstd")
		}
		if len(a.files)+len(a.links) >= maxArchiveFiles || len(h.Name)+len(h.Linkname) > maxArchiveName {
			continue
		}
		at, err := section.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		switch name := path.Clean(h.Name); h.Typeflag {
		case tar.TypeReg:
			a.files[name] = span{at, h.Size}
		case tar.TypeSymlink: // old docker save shares layers so
			a.links[name] = path.Join(path.Dir(name), h.Linkname)
		}
	}
}

func (a *archive) has(name string) bool { _, ok := a.files[name]; return ok }

// find gives the place of a file, through one link.
func (a *archive) find(name string) (span, bool) {
	name = path.Clean(name)
	if to, ok := a.links[name]; ok {
		name = to
	}
	s, ok := a.files[name]
	return s, ok
}

// open gives a file of the archive.
func (a *archive) open(name string) (io.ReadCloser, error) {
	s, ok := a.find(name)
	if !ok {
		return nil, os.ErrNotExist
	}
	return io.NopCloser(io.NewSectionReader(a.file, s.at, s.size)), nil
}

// fromDocker reads what docker save writes.
func (s *Store) fromDocker(ctx context.Context, a *archive, ref, fallback string, report func(Progress)) (Image, error) {
	raw, err := layout{a.open}.read("manifest.json", s.Limits.ManifestBytes)
	if err != nil {
		return Image{}, err
	}
	var list []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		return Image{}, sandbox.Errorf(sandbox.Invalid, "the archive's manifest.json is damaged")
	}
	if len(list) > 1 {
		return Image{}, sandbox.Errorf(sandbox.Unsupported, "the archive holds %d images", len(list)).
			WithHint("save one image at a time")
	}
	m := list[0]
	if len(m.RepoTags) > 0 {
		fallback = m.RepoTags[0]
	}
	name, err := importName(ref, fallback)
	if err != nil {
		return Image{}, err
	}
	config, err := layout{a.open}.read(m.Config, s.Limits.ConfigBytes)
	if err != nil {
		return Image{}, err
	}
	return s.fromFiles(ctx, a, config, m.Layers, name, report)
}

// fromRootfs makes an image of one layer and an empty configuration.
func (s *Store) fromRootfs(ctx context.Context, a *archive, ref, fallback string, report func(Progress)) (Image, error) {
	name, err := importName(ref, fallback)
	if err != nil {
		return Image{}, err
	}
	report(Progress{Status: Resolving})
	hex, err := hashAll(ctx, io.NewSectionReader(a.file, 0, a.size))
	if err != nil {
		return Image{}, err
	}
	config, err := json.Marshal(v1.ConfigFile{
		OS: "linux", Architecture: runtime.GOARCH,
		RootFS: v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{{Algorithm: "sha256", Hex: hex}}},
	})
	if err != nil {
		return Image{}, err
	}
	const whole = "\x00" // a name no entry has
	a.files[whole] = span{0, a.size}
	return s.fromFiles(ctx, a, config, []string{whole}, name, report)
}

// fromFiles takes over an image whose layers are named by file. They are
// checked against the configuration, whose digest names the image.
func (s *Store) fromFiles(ctx context.Context, a *archive, config []byte, layers []string, ref string, report func(Progress)) (Image, error) {
	c, err := v1.ParseConfigFile(bytes.NewReader(config))
	if err != nil || len(c.RootFS.DiffIDs) != len(layers) || len(layers) > s.Limits.Layers {
		return Image{}, sandbox.Errorf(sandbox.Invalid, "the archive's %d layers and its configuration do not fit", len(layers))
	}
	src := files{a: a, config: config, names: map[string]string{}}
	p := plan{mediaType: string(types.OCIManifestSchema1), config: blobRef{digestOf(config), int64(len(config))}}
	for i, name := range layers {
		digest := c.RootFS.DiffIDs[i].String()
		at, ok := a.find(name)
		if !ok {
			return Image{}, sandbox.Errorf(sandbox.Invalid, "layer %d is not in the archive", i)
		}
		src.names[digest] = name
		p.layers = append(p.layers, blobRef{digest, at.size})
	}
	manifest, err := json.Marshal(struct {
		Config blobRef
		Layers []blobRef
	}{p.config, p.layers})
	if err != nil {
		return Image{}, err
	}
	p.digest = digestOf(manifest)
	return s.fetch(ctx, src, p, ref, report)
}

// files is a source whose layers have names.
type files struct {
	a      *archive
	config []byte
	names  map[string]string // by diffID
}

func (f files) small(context.Context, blobRef) ([]byte, error) { return f.config, nil }

func (f files) blob(_ context.Context, b blobRef, _ func(int64)) (blob, error) {
	r, err := f.a.open(f.names[b.Digest])
	if err != nil {
		return blob{}, err
	}
	return blob{Reader: r, size: b.Size, close: func(bool) { r.Close() }}, nil
}

package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/image/unpack"
	"github.com/coop-dev/coop/test/images"
)

// The rows of -images.
const (
	oneLayer   = "image of 1 layer: create to first command's exit"
	manyLayers = "image of 64 layers: create to first command's exit"
	largeImage = "large image: create to first command's exit"
	ourUnpack  = "layer unpacked and verified by coop"
	tarUnpack  = "the same layer unpacked by tar -xzf"
)

func imageBounds() []bound {
	return []bound{
		{row: manyLayers, base: oneLayer, most: 1.3},
		{row: largeImage, base: oneLayer, most: 1.1},
		{row: ourUnpack, base: tarUnpack, most: 1 / 0.7}, // throughput of at least 0.7
	}
}

// runImages measures what images cost. large is the size of the large one.
func runImages(ctx context.Context, bin string, n int, large int64) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "coop-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	box, err := startCoop(ctx, bin, dir)
	if err != nil {
		return err
	}
	defer box.stop()
	describe(bin, n)
	refs, err := fetchImages(ctx, box, dir, large)
	if err != nil {
		return err
	}
	t := newTable()
	for range n {
		for _, row := range []string{oneLayer, manyLayers, largeImage} {
			if err := box.sampleImage(ctx, t, row, refs[row]); err != nil {
				return fmt.Errorf("%s: %w", row, err)
			}
		}
	}
	if os.Geteuid() != 0 {
		fmt.Println("unpacking is measured as root: an ordinary user's daemon does it in a namespace")
	} else if err := measureUnpack(ctx, t, dir, max(5, n/10)); err != nil {
		return err
	}
	printImages(t)
	return box.forgetImages(ctx)
}

// sampleImage makes a sandbox, runs a program and removes it.
func (b *coop) sampleImage(ctx context.Context, t *table, row, ref string) error {
	var id string
	err := t.time(row, func() error {
		sb, err := b.c.Create(ctx, api.CreateRequest{Image: ref, ScopePath: b.project})
		if err != nil {
			return err
		}
		id = sb.ID
		r, err := b.c.Exec(ctx, id, api.ExecRequest{Command: "/bin/true", Args: &[]string{}})
		if err == nil && r.ExitCode != 0 {
			err = fmt.Errorf("true: exit status %d", r.ExitCode)
		}
		return err
	})
	if id == "" {
		return err
	}
	return errors.Join(err, b.c.Delete(ctx, id))
}

// forgetImages removes them: files of other ids are only the daemon's to remove.
func (b *coop) forgetImages(ctx context.Context) error {
	_, err := b.c.PruneImages(ctx, api.ImagePruneRequest{All: true})
	return err
}

// fetchImages makes the images and has them pulled and imported.
func fetchImages(ctx context.Context, box *coop, dir string, large int64) (map[string]string, error) {
	base, err := images.Busybox()
	if err != nil {
		return nil, err
	}
	reg := images.Serve()
	defer reg.Close()
	refs := map[string]string{largeImage: "large:1"}
	layers := []v1.Layer{base}
	for _, count := range []struct {
		row string
		n   int
	}{{oneLayer, 1}, {manyLayers, 64}} {
		for i := len(layers); i < count.n; i++ {
			l, err := images.Layer(images.File{Name: fmt.Sprintf("opt/layer%d/file", i), Content: []byte("x")}, images.File{Name: "etc/last", Content: fmt.Append(nil, i)})
			if err != nil {
				return nil, err
			}
			layers = append(layers, l)
		}
		img, err := images.Image(v1.Config{}, layers...)
		if err != nil {
			return nil, err
		}
		if refs[count.row], err = reg.Push(fmt.Sprintf("layers%d:1", count.n), img); err != nil {
			return nil, err
		}
		if _, err := box.c.PullImage(ctx, api.PullRequest{Reference: refs[count.row]}, nil); err != nil {
			return nil, err
		}
	}
	archive := filepath.Join(dir, "large.tar")
	if err := writeLarge(archive, large); err != nil {
		return nil, err
	}
	defer os.Remove(archive)
	begin := time.Now()
	img, err := box.c.ImportImage(ctx, api.ImportRequest{Source: archive, Reference: refs[largeImage]}, nil)
	if err != nil {
		return nil, err
	}
	fmt.Printf("large image: %d MiB on disk, imported in %.1f s\n\n", img.DiskBytes>>20, time.Since(begin).Seconds())
	return refs, nil
}

// writeLarge packs busybox and files of random bytes.
func writeLarge(file string, size int64) error {
	program, err := os.ReadFile("/bin/busybox")
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	put := func(name string, content []byte) error {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	}
	if err := errors.Join(put("bin/busybox", program), put("bin/true", program)); err != nil {
		return err
	}
	block := make([]byte, 1<<20)
	_, _ = rand.Read(block) // never fails
	for i := int64(0); i < size>>20; i++ {
		copy(block, fmt.Sprintf("file %d", i))
		if err := put(fmt.Sprintf("data/%d/file%d", i%64, i), block); err != nil {
			return err
		}
	}
	return w.Close()
}

// measureUnpack takes turns with tar over a layer of this host's own files.
func measureUnpack(ctx context.Context, t *table, dir string, n int) error {
	layer := filepath.Join(dir, "layer.tgz")
	entries, bytes, err := packHost(layer)
	if err != nil {
		return err
	}
	st, err := os.Stat(layer)
	if err != nil {
		return err
	}
	fmt.Printf("layer: %d entries, %d MiB, %d MiB compressed\n\n", entries, bytes>>20, st.Size()>>20)
	for range n {
		for _, row := range []string{ourUnpack, tarUnpack} {
			into, err := os.MkdirTemp(dir, "unpack-")
			if err != nil {
				return err
			}
			err = t.time(row, func() error {
				if row == tarUnpack {
					return exec.CommandContext(ctx, "tar", "-xzf", layer, "-C", into).Run()
				}
				return unpackOnce(ctx, layer, into, st.Size())
			})
			if err := errors.Join(err, os.RemoveAll(into)); err != nil {
				return fmt.Errorf("%s: %w", row, err)
			}
		}
	}
	return nil
}

// unpackOnce is what the daemon does with a blob: its digest, then the layer.
func unpackOnce(ctx context.Context, layer, into string, size int64) error {
	f, err := os.Open(layer)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(sha256.New(), f); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = unpack.Layer(ctx, into, f, size, unpack.Options{Limits: unpack.DefaultLimits()})
	return err
}

// packHost makes a layer like those of distributions: programs, libraries and
// many small files of this host.
func packHost(file string) (entries int, bytes int64, err error) {
	out, err := os.Create(file)
	if err != nil {
		return 0, 0, err
	}
	defer out.Close()
	gz := gzip.NewWriter(out)
	w := tar.NewWriter(gz)
	const most = 300 << 20
	for _, tree := range []string{"/usr/share/doc", "/usr/bin", "/usr/lib/python3", "/usr/share/perl", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"} {
		err := filepath.WalkDir(tree, func(p string, d fs.DirEntry, err error) error {
			if err != nil || bytes > most {
				return nil //nolint:nilerr // what is not there is not measured
			}
			n, err := packOne(w, p, d)
			entries, bytes = entries+1, bytes+n
			return err
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return entries, bytes, errors.Join(w.Close(), gz.Close())
}

func packOne(w *tar.Writer, p string, d fs.DirEntry) (int64, error) {
	st, err := d.Info()
	if err != nil {
		return 0, err
	}
	link := ""
	if st.Mode()&fs.ModeSymlink != 0 {
		if link, err = os.Readlink(p); err != nil {
			return 0, err
		}
	}
	h, err := tar.FileInfoHeader(st, link)
	if err != nil {
		return 0, err
	}
	h.Name = p[1:]
	if err := w.WriteHeader(h); err != nil || !st.Mode().IsRegular() {
		return 0, err
	}
	f, err := os.Open(p)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return io.Copy(w, f)
}

func printImages(t *table) {
	for _, row := range t.order {
		s := sorted(t.rows[row])
		fmt.Printf("%-55s p50 %8.2f ms  p95 %8.2f ms  (%d)\n", row, ms(at(s, 50)), ms(at(s, 95)), len(s))
	}
	fmt.Println()
	for _, b := range imageBounds() {
		if len(t.rows[b.row]) == 0 {
			continue
		}
		low, mid, high := t.ratio(b)
		verdict := "holds"
		if low > b.most {
			verdict = "BROKEN"
		}
		fmt.Printf("promise: %s ≤ %.2f × %s: ratio %.2f, 95%% interval %.2f to %.2f: %s\n", b.row, b.most, b.base, mid, low, high, verdict)
	}
}

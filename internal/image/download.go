package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/coop-dev/coop/internal/sandbox"
)

const (
	partSuffix = ".part"
	tries      = 6 // in a row that brought nothing
	firstPause = 250 * time.Millisecond
)

// download is a blob on its way: a file, and the digest of what is in it.
type download struct {
	r      *registry
	want   blobRef
	file   *os.File
	sum    hash.Hash
	have   int64
	report func(int64)
}

// blob implements source. What is here from an earlier try is not fetched
// again, but hashed again from its first byte.
func (r *registry) blob(ctx context.Context, b blobRef, report func(int64)) (blob, error) {
	unlock, err := r.s.locks.lock(ctx, "blob "+b.Digest)
	if err != nil {
		return blob{}, err
	}
	path := filepath.Join(r.s.tmp(), hexOf(b.Digest)+partSuffix)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		unlock()
		return blob{}, err
	}
	d := &download{r: r, want: b, file: f, sum: sha256.New(), report: report}
	release := func(done bool) {
		f.Close()
		if done {
			_ = os.Remove(path) // at worst the next start removes it
		}
		unlock()
	}
	err = d.run(ctx)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		release(sandbox.CodeOf(err) == sandbox.Invalid) // wrong bytes are no beginning
		return blob{}, err
	}
	return blob{Reader: f, size: b.Size, close: release}, nil
}

// run fetches until everything is here, however often the registry hangs up.
func (d *download) run(ctx context.Context) error {
	if err := d.resume(); err != nil {
		return err
	}
	pause := firstPause
	for try := 0; d.have < d.want.Size; {
		before := d.have
		err := d.fetch(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && final(err):
			return err
		}
		if d.have > before {
			try, pause = 0, firstPause
			continue
		}
		if try++; try >= tries {
			return sandbox.Errorf(sandbox.Unavailable, "the registry stopped sending layer %.12s: %w", hexOf(d.want.Digest), cause(err)).
				WithHint("try again: what is here already is kept")
		}
		if err := wait(ctx, pause); err != nil {
			return err
		}
		pause *= 2
	}
	if got := "sha256:" + hex.EncodeToString(d.sum.Sum(nil)); got != d.want.Digest {
		return damaged("layer", d.want.Digest, got)
	}
	return nil
}

func cause(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// final reports whether asking again is no use.
func final(err error) bool {
	var known *sandbox.Error
	var answer *transport.Error
	switch {
	case errors.As(err, &known):
		return true
	case errors.As(err, &answer):
		return answer.StatusCode < 500 && answer.StatusCode != http.StatusTooManyRequests && answer.StatusCode != http.StatusRequestTimeout
	}
	var disk *os.PathError
	return errors.As(err, &disk)
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// resume takes over what an earlier try left.
func (d *download) resume() error {
	n, err := io.Copy(d.sum, io.LimitReader(d.file, d.want.Size))
	if err != nil {
		return err
	}
	if n == d.want.Size { // perhaps whole; one that is wrong must not stop every later try
		if "sha256:"+hex.EncodeToString(d.sum.Sum(nil)) != d.want.Digest {
			return d.restart()
		}
	}
	d.have = n
	return nil
}

func (d *download) restart() error {
	d.sum.Reset()
	d.have = 0
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return d.file.Truncate(0)
}

// fetch asks for the rest once.
func (d *download) fetch(ctx context.Context) error {
	header := http.Header{}
	if d.have > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-%d", d.have, d.want.Size-1))
	}
	ctx, alive, cancel := stallable(ctx, d.r.s.Transport.stall())
	defer cancel(nil)
	resp, err := d.r.get(ctx, "blobs", d.want.Digest, header,
		http.StatusOK, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := d.position(resp); err != nil {
		return err
	}
	return d.copy(resp.Body, alive)
}

// position makes sure that the answer begins where we are.
func (d *download) position(resp *http.Response) error {
	if resp.StatusCode == http.StatusPartialContent &&
		strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", d.have)) {
		return nil
	}
	if err := d.restart(); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New("the registry does not continue where we are")
	}
	return nil
}

// copy takes what comes, and not a byte more than the manifest promises.
func (d *download) copy(body io.Reader, alive func()) error {
	buf := make([]byte, 128<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			alive()
			if d.have+int64(n) > d.want.Size {
				return sandbox.Errorf(sandbox.Invalid, "layer %.12s is larger than the %d bytes the manifest says", hexOf(d.want.Digest), d.want.Size)
			}
			if _, werr := d.file.Write(buf[:n]); werr != nil {
				return werr
			}
			d.sum.Write(buf[:n])
			d.have += int64(n)
			d.report(d.have)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

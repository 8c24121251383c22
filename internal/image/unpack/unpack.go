package unpack

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/layerdir"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Options say for whom a layer is unpacked.
type Options struct {
	UserXattr bool // overlay's notes are user.* attributes: in a user namespace
	SingleID  bool // everything belongs to root, owners are noted
	Limits    Limits
}

// Result is what was found.
type Result struct {
	DiffID  string // hex SHA-256 of the uncompressed archive
	Bytes   int64  // of its files
	Entries int

	DiskBytes int64 // roughly, as blocks of 4 KiB

	Devices int // left out
	Nobody  int // owners without an id here
	Attrs   int // attributes this file system cannot keep
}

// Layer unpacks a blob into an empty directory. On an error the directory holds
// a part of the layer that must not be used.
func Layer(ctx context.Context, dir string, blob io.Reader, size int64, o Options) (Result, error) {
	raw, err := decompress(blob)
	if err != nil {
		return Result{}, broken(err)
	}
	defer raw.Close()
	stream := readAhead(&bounded{r: interruptible{ctx, raw}, left: o.Limits.allowed(size)})
	defer stream.close()
	tree, err := layerdir.Open(dir)
	if err != nil {
		return Result{}, err
	}
	defer tree.Close()
	sum := sha256.New()
	all := io.TeeReader(stream, sum)
	u := &unpacker{Options: o, tree: tree, whiteouts: map[string]bool{}}
	if err := u.run(tar.NewReader(all)); err != nil {
		return u.result, broken(err)
	}
	// What follows the end of the archive counts for the digest.
	if _, err := io.CopyBuffer(io.Discard, all, u.buffer()); err != nil {
		return u.result, broken(err)
	}
	u.result.DiffID = hex.EncodeToString(sum.Sum(nil))
	return u.result, u.finish()
}

// interruptible ends a stream with its context.
type interruptible struct {
	ctx context.Context //nolint:containedctx // one stream
	r   io.Reader
}

func (i interruptible) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	return i.r.Read(p)
}

// archivesFault are the kernel's words for names and links that make no sense.
var archivesFault = []syscall.Errno{
	syscall.ENAMETOOLONG, syscall.ELOOP, syscall.ENOTDIR, syscall.EISDIR, syscall.EINVAL, syscall.EXDEV, syscall.ENOENT, syscall.EMLINK,
}

// broken gives errors of the archive a code; others have one, or are the disk's.
func broken(err error) error {
	var known *sandbox.Error
	var errno syscall.Errno
	switch {
	case errors.As(err, &known), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return sandbox.Errorf(sandbox.Unavailable, "the disk is full: %w", err).
			WithHint("free some space where COOP_HOME is: coop image prune removes images nobody uses")
	case errors.As(err, &errno) && !slices.Contains(archivesFault, errno):
		return fmt.Errorf("unpack layer: %w", err)
	}
	return sandbox.Errorf(sandbox.Invalid, "the layer is damaged: %w", err)
}

// unpacker is one layer under way.
type unpacker struct {
	Options
	tree      *layerdir.Tree
	result    Result
	whiteouts map[string]bool // made by us, by path
	dirs      []dirTime
	memory    int // of paths that are remembered
	buf       []byte
}

// maxMemory bounds what is remembered of a layer: a million directories.
const maxMemory = 128 << 20

// remember accounts for a path that is kept until the end.
func (u *unpacker) remember(p string) error {
	if u.memory += len(p) + 64; u.memory > maxMemory {
		return sandbox.Errorf(sandbox.TooLarge, "the layer has too many directories or whiteouts")
	}
	return nil
}

func (u *unpacker) buffer() []byte {
	if u.buf == nil {
		u.buf = make([]byte, 256<<10)
	}
	return u.buf
}

// run makes one entry after the other.
func (u *unpacker) run(archive *tar.Reader) error {
	if err := u.tree.SetRoot(layerdir.Meta{Mode: 0o755}); err != nil {
		return err
	}
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if u.result.Entries++; u.result.Entries > u.Limits.Entries {
			return sandbox.Errorf(sandbox.TooLarge, "the layer has more than %d entries", u.Limits.Entries)
		}
		u.result.DiskBytes += block // its inode, a directory's or a link's block
		if err := u.entry(h, archive); err != nil {
			return named(h.Name, err)
		}
	}
}

// named says which entry an error is about.
func named(name string, err error) error {
	if len(name) > 128 {
		name = name[:128] + "…"
	}
	var known *sandbox.Error
	if errors.As(err, &known) {
		return sandbox.Errorf(known.Code, "entry %q: %w", name, err).WithHint("%s", known.Hint)
	}
	return fmt.Errorf("entry %q: %w", name, err)
}

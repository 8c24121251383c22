package layerdir

import (
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/filestat"
)

// File is a regular file being written, without the bookkeeping of os.File:
// a layer may hold hundreds of thousands.
type File struct{ fd int }

// Create makes a new file; EEXIST when something is at the place.
func (t *Tree) Create(p Place) (File, error) {
	fd, err := unix.Openat(p.dir, p.Name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return File{-1}, &os.PathError{Op: "create", Path: p.Name, Err: err}
	}
	return File{fd}, nil
}

// WriteAt writes all of b.
func (f File) WriteAt(b []byte, off int64) error {
	for len(b) > 0 {
		n, err := unix.Pwrite(f.fd, b, off)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return os.NewSyscallError("write", err)
		}
		if n == 0 {
			return io.ErrShortWrite
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

// Truncate sets the size; what was not written is a hole.
func (f File) Truncate(size int64) error {
	return os.NewSyscallError("truncate", unix.Ftruncate(f.fd, size))
}

// Attr sets an extended attribute.
func (f File) Attr(name string, value []byte) error { return setAttr(f.fd, name, value) }

// Own gives the file its owner.
func (f File) Own(uid, gid int) error {
	return os.NewSyscallError("chown", unix.Fchown(f.fd, uid, gid))
}

// Finish gives the file the rest of its attributes and closes it.
func (f File) Finish(m Meta) error {
	err := unix.Fchmod(f.fd, m.Mode)
	if err == nil {
		ts := times(m.Time)
		err = filestat.SetTimes(f.fd, &ts)
	}
	if cerr := unix.Close(f.fd); err == nil {
		err = cerr
	}
	return os.NewSyscallError("finish file", err)
}

// Close gives up on the file.
func (f File) Close() { _ = unix.Close(f.fd) } // it is removed with its tree

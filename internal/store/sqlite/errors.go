package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/coop-dev/coop/internal/sandbox"
)

// fail gives an error its code. It is the one place that knows what SQLite's
// results mean for a person; op is "open", "create sandbox x", and so on.
//
//	result                     code         the person reads
//	FULL, ENOSPC               unavailable  disk full
//	IOERR                      unavailable  disk i/o error
//	CORRUPT, NOTADB            unavailable  damaged: move it aside
//	READONLY, CANTOPEN, PERM   unavailable  cannot be written
//	BUSY, LOCKED               unavailable  locked by another process
//	context ended              timeout, or unavailable when cancelled
//	closed                     unavailable  closed
//	anything else              internal
func (s *Store) fail(ctx context.Context, op string, err error) error {
	var coded *sandbox.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	if interrupted(ctx, err) {
		return ended(ctx, op)
	}
	if s.closed.Load() {
		return sandbox.Errorf(sandbox.Unavailable, "%s: database %s: closed", op, s.path)
	}
	switch result(err) {
	case lib.SQLITE_FULL:
		return s.unavailable(op, "disk full", err).
			WithHint("nothing was changed; free some space on the file system of %s and try again", s.path)
	case lib.SQLITE_IOERR:
		return s.unavailable(op, "disk i/o error", err).
			WithHint("check free space and health of the disk that holds %s", s.path)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return s.unavailable(op, "damaged or half-written", err).
			WithHint("stop the daemon, move %[1]s, %[1]s-wal and %[1]s-shm aside and start again with an empty database; "+
				"the files of the sandboxes stay on disk", s.path)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return s.unavailable(op, "cannot be opened for writing"+errnoText(err), err).
			WithHint("the directory of %s must exist on a writable file system, and it and the file must belong to the user coop runs as", s.path)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return s.unavailable(op, "locked by another process", err).
			WithHint("is a second daemon or a database tool using %s? nothing was changed; try again", s.path)
	}
	return sandbox.Errorf(sandbox.Internal, "%s: database %s: %w", op, s.path, err)
}

func (s *Store) unavailable(op, cause string, err error) *sandbox.Error {
	e := sandbox.Errorf(sandbox.Unavailable, "%s: database %s: %s", op, s.path, cause)
	e.Err = err
	return e
}

// interrupted tells an error that the end of the context made from one that
// only came at the same time. ErrTxDone is what is left when database/sql has
// rolled back on its own.
func interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil &&
		(errors.Is(err, ctx.Err()) || errors.Is(err, sql.ErrTxDone) || result(err) == lib.SQLITE_INTERRUPT)
}

func ended(ctx context.Context, op string) error {
	code := sandbox.Unavailable
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = sandbox.Timeout
	}
	e := sandbox.Errorf(code, "%s: %w", op, ctx.Err())
	if cause := context.Cause(ctx); cause != ctx.Err() { //nolint:errorlint // Cause gives the same value back when there is none
		e.Message, e.Err = fmt.Sprintf("%s: %v", op, cause), errors.Join(ctx.Err(), cause)
	}
	return e
}

// result is the primary result code of SQLite; what the kernel said when the
// file was made counts as the code SQLite would have given for it.
func result(err error) int {
	var e *driver.Error
	var errno syscall.Errno
	switch {
	case errors.As(err, &e):
		return e.Code() & 0xff
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return lib.SQLITE_FULL
	case errors.Is(err, syscall.EIO):
		return lib.SQLITE_IOERR
	case errors.As(err, &errno), errors.Is(err, fs.ErrPermission):
		return lib.SQLITE_CANTOPEN
	}
	return lib.SQLITE_ERROR
}

// errnoText is the kernel's reason without the path, which is in the message
// already.
func errnoText(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return ": " + errno.Error()
	}
	return ""
}

func notRegular(path string) error {
	return sandbox.Errorf(sandbox.Unavailable, "open: database %s: not a regular file", path).
		WithHint("links and special files are refused; move %s aside", path)
}

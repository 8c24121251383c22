// Package sqlite keeps records and audit lines in one SQLite file: the store
// of a daemon that has no database server. It owns that file, its -wal and
// -shm companions and its schema; it makes no directories and reads no file of
// a sandbox.
//
// Invariant: one connection writes, and every write is one transaction that
// carries both the change and its audit line. With WAL and synchronous=NORMAL
// an acknowledged write survives the death of the process; a power cut may
// take those since the last checkpoint that the kernel has not yet written out
// by itself, never half of one.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	driver "modernc.org/sqlite"

	"github.com/coop-dev/coop/internal/store"
	"github.com/coop-dev/coop/internal/store/relational"
)

// Options tune a store; the zero value is ready to use.
type Options struct {
	// Logger hears of rows that a list had to leave out. Nil is silence.
	Logger *slog.Logger
	// BusyTimeout is how long a write waits for another process that holds
	// the database. Zero is five seconds.
	BusyTimeout time.Duration
}

// Store is a store.Store in one file. It may be used by many goroutines.
type Store struct {
	path   string
	log    *slog.Logger
	writer *sql.DB // one connection: SQLite has one writer, so waiting is done here, where a context can end it
	reader *sql.DB
	*relational.Store

	checkpoints *checkpointer
	closed      atomic.Bool
	close       func() error
}

var _ store.Store = (*Store)(nil)

// Open opens the database at path, makes it with mode 0600 if it is missing,
// and brings its schema up to date. A database that is damaged, read-only or
// newer than this program is Unavailable, with a hint what to do.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	s := &Store{path: path, log: o.Logger}
	s.close = sync.OnceValue(s.closeOnce)
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if err := s.open(ctx, o); err != nil {
		err = s.fail(ctx, "open", err)
		_ = s.close() // the first error is the one that explains
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, o Options) (err error) {
	if err := makeFile(s.path); err != nil {
		return err
	}
	if s.writer, err = pool(s.path, 1, o.BusyTimeout, url.Values{
		"_txlock":       {"immediate"},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"NORMAL"},
		"_pragma":       {"wal_autocheckpoint(0)"}, // see checkpointer
	}); err != nil {
		return err
	}
	if err := s.checkWritable(ctx); err != nil {
		return err
	}
	if err := s.migrate(ctx, migrations); err != nil {
		return err
	}
	readers := max(4, runtime.GOMAXPROCS(0)) // one of them may be busy with a checkpoint
	if s.reader, err = pool(s.path, readers, o.BusyTimeout, url.Values{"_query_only": {"1"}}); err != nil {
		return err
	}
	s.checkpoints = startCheckpointer(s.log, s.checkpoint)
	s.Store, err = relational.New(ctx, relational.Config{
		Dialect: s.dialect(), Writer: s.writer, Reader: s.reader, Name: s.path, Log: s.log, Wrote: func() { s.checkpoints.wrote() },
	})
	return err
}

// makeFile makes the file before SQLite would, because SQLite makes it
// readable for everyone and gives -wal and -shm the same mode. It never opens
// a file that exists: closing it again would drop every POSIX lock this
// process holds on it (fcntl(2), "Advisory record locking").
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return adoptFile(path)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

func adoptFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return notRegular(path)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return os.Chmod(path, 0o600)
}

// pool makes connections on demand; none is opened yet. They are kept when
// idle, so that prepared statements stay prepared.
func pool(path string, size int, busy time.Duration, params url.Values) (*sql.DB, error) {
	params.Set("_busy_timeout", fmt.Sprint(busy.Milliseconds()))
	params.Set("_foreign_keys", "1")
	c, err := driver.NewConnector(dsn(path, params))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// dsn writes path as a SQLite URI: without the escapes a ? or # in it would
// end the file name, and a % would swallow what follows.
func dsn(path string, params url.Values) string {
	u := url.URL{Scheme: "file", Path: path, RawQuery: params.Encode()}
	return u.String()
}

// checkWritable finds out at start what SQLite would tell only at the first
// write: it opens a file that it may not write read-only, without a word.
func (s *Store) checkWritable(ctx context.Context) error {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // goes back to the pool
	return conn.Raw(func(c any) error {
		ro, err := c.(interface{ IsReadOnly(string) (bool, error) }).IsReadOnly("main")
		if err == nil && ro {
			err = fs.ErrPermission
		}
		return err
	})
}

// Close waits for what is under way, folds the log into the database and lets
// go of the file.
func (s *Store) Close() error { return s.close() }

func (s *Store) closeOnce() error {
	s.closed.Store(true)
	if s.checkpoints != nil {
		s.checkpoints.close()
	}
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Package volume keeps the directories that outlive sandboxes: named volumes,
// persistent workspaces, what a project keeps, and package caches. It makes,
// fills, opens and removes them; which sandbox uses which is for its callers to
// know, and so is that nobody uses what they remove.
//
// It refuses to follow links that a sandbox left in them, and to take from the
// host what does not belong to who asks.
//
// Invariant: a directory under its name is complete. It is filled under another
// name and renamed, and removed the same way.
package volume

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/rmtree"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Shelf is a directory of named directories. Names begin with a letter or a
// digit; what begins with a dot is the shelf's own:
//
//	.new-NAME      being filled
//	.fresh-NAME    made by hand and not used yet: its first user fills it
//	.deleted-NAME  being removed
type Shelf struct {
	Dir  string
	What string // "volume" or "workspace", for people
	Root bool   // real root: files belong to the range idmap.Volumes

	mu      sync.Mutex
	filling map[string]*sync.Mutex
}

// Path is where a named directory is.
func (s *Shelf) Path(name string) string { return filepath.Join(s.Dir, name) }

func (s *Shelf) own(kind, name string) string { return filepath.Join(s.Dir, "."+kind+"-"+name) }

// Fill puts the first content into stage, which does not exist yet. It may leave
// that so: then the directory begins empty.
type Fill func(ctx context.Context, stage string) error

// Create makes an empty directory that its first user will fill.
func (s *Shelf) Create(name string) error {
	defer s.lock(name)()
	if s.exists(name) {
		return sandbox.Errorf(sandbox.Conflict, "%s %s exists already", s.What, name).WithHint("coop %s ls shows them", s.What)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(s.own("fresh", name), nil, 0o600); err != nil {
		return err
	}
	return s.put(context.Background(), name, nil)
}

// CreateFilled makes a directory with its content.
func (s *Shelf) CreateFilled(ctx context.Context, name string, fill Fill) error {
	defer s.lock(name)()
	if s.exists(name) {
		return sandbox.Errorf(sandbox.Conflict, "%s %s exists already", s.What, name).WithHint("coop %s ls shows them", s.What)
	}
	return s.put(ctx, name, fill)
}

// Use opens a directory, making it if there is none. At first use it is filled;
// first says that this was it.
func (s *Shelf) Use(ctx context.Context, name string, fill Fill) (dir *os.File, first bool, err error) {
	defer s.lock(name)()
	if _, ferr := os.Lstat(s.own("fresh", name)); ferr == nil || !s.exists(name) {
		if err := s.put(ctx, name, fill); err != nil {
			return nil, false, err
		}
		if err := os.Remove(s.own("fresh", name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, false, err
		}
		first = true
	}
	dir, err = s.Open(name)
	return dir, first, err
}

// put fills a stage and gives it the name. A directory of that name is replaced
// only while it is empty, which the kernel's rename looks after.
func (s *Shelf) put(ctx context.Context, name string, fill Fill) error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	stage := s.own("new", name)
	if err := rmtree.Remove(stage); err != nil { // of one that was killed
		return err
	}
	if fill != nil {
		if err := fill(ctx, stage); err != nil {
			_ = rmtree.Remove(stage) // the first error is the one to tell
			return err
		}
	}
	if err := s.makeTop(stage); err != nil {
		return err
	}
	err := os.Rename(stage, s.Path(name))
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		return rmtree.Remove(stage) // somebody put files into it by hand: they count
	}
	return err
}

// makeTop makes an empty stage unless it was filled.
func (s *Shelf) makeTop(stage string) error {
	err := os.Mkdir(stage, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.Chmod(stage, 0o755); err != nil { // whatever the umask
		return err
	}
	if !s.Root {
		return nil
	}
	return os.Lchown(stage, int(idmap.Volumes), int(idmap.Volumes))
}

func (s *Shelf) exists(name string) bool {
	_, err := os.Lstat(s.Path(name))
	return err == nil
}

// Open opens a directory that is there.
func (s *Shelf) Open(name string) (*os.File, error) {
	f, err := os.OpenFile(s.Path(name), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.missing(name)
	}
	return f, err
}

// Names lists what is there, sorted.
func (s *Shelf) Names() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Detach makes a directory disappear at once; finish then removes it, which may
// take a while. Until it has, nobody else can have the name. It does not wait for
// one that is being filled.
func (s *Shelf) Detach(name string) (finish func() error, err error) {
	m := s.mutex(name)
	if !m.TryLock() {
		return nil, sandbox.Errorf(sandbox.Conflict, "%s %s is being filled or removed", s.What, name).WithHint("try again in a moment")
	}
	unlock := m.Unlock
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	gone := s.own("deleted", name)
	if err := rmtree.Remove(gone); err != nil { // of one that was killed
		return nil, err
	}
	if err := os.Rename(s.Path(name), gone); errors.Is(err, fs.ErrNotExist) {
		return nil, s.missing(name)
	} else if err != nil {
		return nil, err
	}
	if err := os.Remove(s.own("fresh", name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return func() error {
		defer unlock()
		return rmtree.Remove(gone)
	}, nil
}

func (s *Shelf) missing(name string) error {
	return sandbox.Errorf(sandbox.NotFound, "no %s %q", s.What, name).WithHint("coop %s ls shows them", s.What)
}

// Sweep removes what a daemon that was killed had begun.
func (s *Shelf) Sweep() error {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".new-") || strings.HasPrefix(e.Name(), ".deleted-") {
			err = errors.Join(err, rmtree.Remove(filepath.Join(s.Dir, e.Name())))
		}
	}
	return err
}

// lock lets one at a time make, fill or remove a name; others go on.
func (s *Shelf) lock(name string) func() {
	m := s.mutex(name)
	m.Lock()
	return m.Unlock
}

func (s *Shelf) mutex(name string) *sync.Mutex {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filling == nil {
		s.filling = map[string]*sync.Mutex{}
	}
	m := s.filling[name]
	if m == nil {
		m = &sync.Mutex{}
		s.filling[name] = m
	}
	return m
}

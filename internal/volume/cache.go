package volume

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/rmtree"
)

// Caches hold what package managers have downloaded, for all sandboxes:
// shared/KEY/N, where KEY is the path inside, escaped, and N counts generations.
// A sandbox sees one generation below a layer of its own, so what it writes
// touches nobody else; promoting makes the next generation. A generation never
// changes: those who see an older one go on seeing it.
type Caches struct {
	Dir  string
	Root bool // as for Shelf

	mu        sync.Mutex // which generations there are and who sees them
	promoting sync.Mutex
}

// CacheKey is the name of a cache on disk, and of the sandbox's layer over it.
func CacheKey(path string) string { return url.PathEscape(path) }

func (c *Caches) generation(path string, n int) string {
	return filepath.Join(c.Dir, CacheKey(path), strconv.Itoa(n))
}

// Open opens the newest generation of a cache, an empty first one if need be.
// note writes down that somebody sees it; Trim then leaves it.
func (c *Caches) Open(path string, note func(n int) error) (dir *os.File, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.newest(path)
	if err == nil && n == 0 {
		n = 1
		err = c.makeFirst(c.generation(path, n))
	}
	if err != nil {
		return nil, err
	}
	if err := note(n); err != nil {
		return nil, err
	}
	return os.OpenFile(c.generation(path, n), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
}

func (c *Caches) makeFirst(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	stage := filepath.Join(filepath.Dir(dir), ".new")
	if err := os.Mkdir(stage, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Chmod(stage, 0o755); err != nil { // whatever the umask
		return err
	}
	if c.Root {
		if err := os.Lchown(stage, int(idmap.Volumes), int(idmap.Volumes)); err != nil {
			return err
		}
	}
	return os.Rename(stage, dir)
}

// Generations lists those a cache has, the oldest first.
func (c *Caches) Generations(path string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(c.Dir, CacheKey(path)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, err
}

func (c *Caches) newest(path string) (int, error) {
	list, err := c.Generations(path)
	if err != nil || len(list) == 0 {
		return 0, err
	}
	return list[len(list)-1], nil
}

// Paths lists the caches there are, by the path they have inside.
func (c *Caches) Paths() ([]string, error) {
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var list []string
	for _, e := range entries {
		if p, err := url.PathUnescape(e.Name()); err == nil && e.Name()[0] != '.' {
			list = append(list, p)
		}
	}
	return list, err
}

// Path is the directory of a cache with all its generations.
func (c *Caches) Path(path string) string { return filepath.Join(c.Dir, CacheKey(path)) }

// Trim removes generations that nobody sees: used tells which somebody does, and
// whether the cache has users at all. One that has keeps its newest. finish does
// the work that takes time.
func (c *Caches) Trim(path string, used func() (seen map[int]bool, any bool, err error)) (finish func() error, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen, any, err := used()
	if err != nil {
		return nil, err
	}
	list, err := c.Generations(path)
	var gone []string
	for i, n := range list {
		if seen[n] || (i == len(list)-1 && any) {
			continue
		}
		to := filepath.Join(c.Path(path), ".deleted-"+rand.Text())
		if rerr := os.Rename(c.generation(path, n), to); rerr != nil {
			err = errors.Join(err, rerr)
			continue
		}
		gone = append(gone, to)
	}
	return func() error { return c.finish(path, gone) }, err
}

func (c *Caches) finish(path string, gone []string) (err error) {
	for _, dir := range gone {
		err = errors.Join(err, rmtree.Remove(dir))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = os.Remove(c.Path(path)) // only when it is empty
	return err
}

// Sweep removes what a daemon that was killed had begun.
func (c *Caches) Sweep() error {
	paths, err := c.Paths()
	for _, p := range paths {
		entries, rerr := os.ReadDir(c.Path(p))
		err = errors.Join(err, rerr)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				err = errors.Join(err, rmtree.Remove(filepath.Join(c.Path(p), e.Name())))
			}
		}
	}
	return err
}

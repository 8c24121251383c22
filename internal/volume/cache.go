package volume

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

	mu sync.Mutex
}

// CacheKey is the name of a cache on disk, and of the sandbox's layer over it.
func CacheKey(path string) string { return url.PathEscape(path) }

func (c *Caches) generation(path string, n int) string {
	return filepath.Join(c.Dir, CacheKey(path), strconv.Itoa(n))
}

// Open opens the newest generation of a cache, an empty first one if need be.
func (c *Caches) Open(path string) (dir *os.File, n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err = c.newest(path)
	if err == nil && n == 0 {
		n = 1
		err = c.makeFirst(c.generation(path, n))
	}
	if err != nil {
		return nil, 0, err
	}
	dir, err = os.OpenFile(c.generation(path, n), os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	return dir, n, err
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

// Trim removes old generations that nobody uses, and all of them when the cache
// itself has no users. It must not run beside Open of a sandbox that is not
// among those used tells of: the caller sees to that.
func (c *Caches) Trim(path string, used func(n int) bool, all bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	list, err := c.Generations(path)
	if err != nil {
		return err
	}
	for i, n := range list {
		if used(n) || (i == len(list)-1 && !all) {
			continue
		}
		err = errors.Join(err, rmtree.Remove(c.generation(path, n)))
	}
	if all {
		_ = rmtree.Remove(filepath.Join(c.Path(path), ".new")) // of a promote that was killed
		_ = os.Remove(c.Path(path))                            // only when it is empty
	}
	return err
}

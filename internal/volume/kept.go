package volume

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/filestat"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/rmtree"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Kept holds what projects keep between their sandboxes: persist/KEY/NAME, where
// NAME is a path below the home, escaped, with the user whose home it is unless
// that is root. One level for all of them: a sandbox that keeps .config must not
// be able to turn what another keeps as .config/gh into a link.
type Kept struct {
	Dir  string
	Root bool // as for Shelf
}

// Key names a project on disk: a word for people and a hash of the whole.
func Key(project string) string {
	sum := sha256.Sum256([]byte(project))
	return sandbox.NameFor(strings.TrimPrefix(project, "volume:")) + "-" + hex.EncodeToString(sum[:8])
}

// keptName is how a path of a user's home is called; %@ comes of no escaping.
func keptName(path, user string) string {
	user, _, _ = strings.Cut(user, ":")
	if user == "" || user == "root" || user == "0" {
		return url.PathEscape(path)
	}
	return url.PathEscape(path) + "%@" + user
}

// Open opens what a project keeps of a user's home, making it if there is nothing
// yet. It takes two or three system calls: every create does it.
func (k *Kept) Open(key, path, user string) (*os.File, error) {
	dir := filepath.Join(k.Dir, key, keptName(path, user))
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			return nil, err
		}
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err := k.give(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// give makes a directory that is still ours one of the sandboxes.
func (k *Kept) give(f *os.File) error {
	if !k.Root {
		return nil
	}
	if st, err := filestat.Of(f); err != nil || st.UID != 0 {
		return err
	}
	return f.Chown(int(idmap.Volumes), int(idmap.Volumes))
}

// Tidy removes a project's directories as far as they are empty. Most projects
// never keep anything, and nobody wants a directory for each that ever was.
func (k *Kept) Tidy(key string) error {
	dir := filepath.Join(k.Dir, key)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		_ = os.Remove(filepath.Join(dir, e.Name())) // only an empty one goes
	}
	_ = os.Remove(dir) // likewise
	return nil
}

// Detach makes everything a project keeps disappear at once; finish removes it,
// which may take a while.
func (k *Kept) Detach(key string) (finish func() error, err error) {
	gone := filepath.Join(k.Dir, ".deleted-"+rand.Text())
	err = os.Rename(filepath.Join(k.Dir, key), gone)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return func() error { return rmtree.Remove(gone) }, nil
}

// Keys lists the projects that keep something.
func (k *Kept) Keys() ([]string, error) {
	return (&Shelf{Dir: k.Dir}).Names()
}

// Sweep removes what a daemon that was killed had begun to remove.
func (k *Kept) Sweep() error { return (&Shelf{Dir: k.Dir}).Sweep() }

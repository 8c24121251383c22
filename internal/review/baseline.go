package review

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/within"
)

// baseline is what is known of the project at the moment the sandbox was made.
// A file that was clean then is its blob in git's index of that moment; git
// never writes into an index but replaces it, so a hard link keeps it for free.
type baseline struct {
	Repo   string `json:"repo"`   // directory that has the .git
	GitDir string `json:"gitDir"` // what that is or points to
	Prefix string `json:"prefix"` // the project within it, with a slash at the end; "" when it is the same
	Head   string `json:"head"`   // commit, where a file says it
}

const (
	baselineFile = "baseline.json"
	indexFile    = "index"
	// maxIndexCopy is how large an index may be to be copied where it cannot be
	// linked: making a sandbox takes as long whatever the size of the project.
	maxIndexCopy = 8 << 20
)

// RecordBaseline notes the project's state in dir, the sandbox's review
// directory. It costs a few system calls. A project without git has none, and a
// repository that looks odd is treated as none: it only means that fewer
// conflicts can be merged.
func RecordBaseline(project, dir string) error {
	repo, gitDir := findRepository(project)
	if gitDir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := keepIndex(filepath.Join(gitDir, "index"), filepath.Join(dir, indexFile)); err != nil {
		return err
	}
	b := baseline{Repo: repo, GitDir: gitDir, Head: readHead(gitDir)}
	if rel, err := filepath.Rel(repo, project); err == nil && rel != "." {
		b.Prefix = rel + "/"
	}
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, baselineFile), data, 0o600)
}

// findRepository looks for .git upwards.
func findRepository(dir string) (repo, gitDir string) {
	for {
		p := filepath.Join(dir, ".git")
		st, err := os.Lstat(p)
		switch {
		case err == nil && st.IsDir():
			return dir, p
		case err == nil && st.Mode().IsRegular():
			return dir, gitFile(dir, p)
		case dir == filepath.Dir(dir):
			return "", ""
		}
		dir = filepath.Dir(dir)
	}
}

// gitFile reads "gitdir: …" of a work tree or submodule.
func gitFile(dir, p string) string {
	target, ok := strings.CutPrefix(readSmall(p), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(dir, target)
	}
	return filepath.Clean(target)
}

// readSmall reads a file of one line; "" if it is none.
func readSmall(p string) string {
	f, err := os.OpenFile(p, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return ""
	}
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// readHead gives the commit HEAD is at, where it stands in a file of its own.
func readHead(gitDir string) string {
	head := readSmall(filepath.Join(gitDir, "HEAD"))
	ref, symbolic := strings.CutPrefix(head, "ref: ")
	if !symbolic {
		return head
	}
	common := gitDir
	if c := readSmall(filepath.Join(gitDir, "commondir")); c != "" {
		common = filepath.Join(gitDir, c)
	}
	if !filepath.IsLocal(ref) {
		return ""
	}
	return readSmall(filepath.Join(common, ref))
}

// keepIndex links the index, or copies a small one from another filesystem.
func keepIndex(from, to string) error {
	st, err := os.Lstat(from)
	if err != nil || !st.Mode().IsRegular() {
		return nil // a repository without a commit yet, or none we can use
	}
	err = os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if st.Size() > maxIndexCopy {
		return nil
	}
	return copyIndex(from, to)
}

func copyIndex(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil // not ours to read
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIndexCopy))
	if err != nil {
		return nil //nolint:nilerr // the same
	}
	return os.WriteFile(to, data, 0o600)
}

// loadBaseline reads it back; nil when there is none.
func loadBaseline(dir string) *baseline {
	data, err := os.ReadFile(filepath.Join(dir, baselineFile))
	if err != nil {
		return nil
	}
	b := &baseline{}
	if json.Unmarshal(data, b) != nil {
		return nil
	}
	return b
}

// lookup finds files of the project in the index of that moment.
func (r *Review) lookup(paths []string) map[string]blob {
	out := map[string]blob{}
	b := r.base
	if b == nil || len(paths) == 0 {
		return out
	}
	f, err := os.Open(filepath.Join(r.Dir, indexFile))
	if err != nil {
		return out
	}
	defer f.Close()
	wanted := map[string]bool{}
	for _, p := range paths {
		wanted[b.Prefix+p] = true
	}
	found, err := findInIndex(f, hashSize(b.Head), wanted)
	if err != nil {
		return out
	}
	for p, x := range found {
		out[strings.TrimPrefix(p, b.Prefix)] = x
	}
	return out
}

// hashSize tells SHA-256 repositories by the length of a commit's name.
func hashSize(head string) int {
	if len(head) == 64 {
		return 32
	}
	return 20
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// open a descriptor of a directory that is not a link.
func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}

// owner is who a directory belongs to.
func owner(f *os.File) (uid, gid uint32, err error) {
	st, err := within.Fstat(f)
	return st.UID, st.GID, err
}

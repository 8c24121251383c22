package review

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/coop-dev/coop/internal/linux/within"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Action is what an edit does to its path.
type Action int

// The actions. A directory's own permissions are changed with Chmod.
const (
	PutFile Action = iota
	PutLink
	MakeDir
	Remove // a directory with everything in it
	Chmod
)

// Edit is one thing to be done to a project. Directories on the way that are
// not there are made.
type Edit struct {
	Path   string // relative, slash-separated, clean
	Action Action
	Body   *Body       // PutFile
	Target string      // PutLink
	Perm   fs.FileMode // of a new file or directory; Chmod: exactly these
	Exec   *bool       // PutFile over a file: who may read it may, or may not, execute it
	From   string      // PutFile: the file it was renamed from, whose owner and permissions it keeps

	// Seen is what was at the path when the edit was decided upon; nil: nothing.
	// Anything else there now is a conflict.
	Seen *within.Stat
}

const (
	maxPathBytes = 4095
	maxPathDepth = 256 // each level is a descriptor while a tree is removed
)

// checkPath refuses paths that could mean something else than they say.
func checkPath(p string) error {
	parts := strings.Split(p, "/")
	if len(p) > maxPathBytes || len(parts) > maxPathDepth {
		return sandbox.Errorf(sandbox.Invalid, "path %.128q is too long or too deep to be applied", p)
	}
	for _, c := range parts {
		if !component(c) || len(c) > 255 {
			return sandbox.Errorf(sandbox.Invalid, "%.128q is not a path in the project", p)
		}
		if strings.HasPrefix(c, tmpPrefix) {
			return sandbox.Errorf(sandbox.Denied, "names that begin with %s are Coop's own: %.128q", tmpPrefix, p)
		}
		if strings.EqualFold(c, ".git") {
			return sandbox.Errorf(sandbox.Denied, "git's own files are never applied: %.128q", p).
				WithHint("take over commits with coop approve --commits")
		}
	}
	return nil
}

// order sorts edits so that what contains comes before what is contained, and
// refuses two for one path.
func order(edits []Edit) ([]Edit, error) {
	edits = slices.Clone(edits)
	for i := range edits {
		if err := checkPath(edits[i].Path); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(edits, func(a, b Edit) int { return comparePaths(a.Path, b.Path) })
	for i := 1; i < len(edits); i++ {
		if edits[i].Path == edits[i-1].Path {
			return nil, fmt.Errorf("two edits of %q", edits[i].Path)
		}
	}
	return edits, nil
}

// comparePaths sorts a directory right before what is in it: the slash comes
// before every other byte.
func comparePaths(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] == b[i] {
			continue
		}
		if a[i] == '/' || (b[i] != '/' && a[i] < b[i]) {
			return -1
		}
		return 1
	}
	return len(a) - len(b)
}

// below reports whether p lies in directory dir.
func below(p, dir string) bool {
	return len(p) > len(dir) && p[len(dir)] == '/' && strings.HasPrefix(p, dir)
}

package review

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Fingerprint tells how both sides of a change look: inodes and when the kernel
// last changed them, which nobody can set. It costs no reading. Two of them are
// the same when nothing was written in between.
func Fingerprint(project, layer *os.File, c changes.Change) string {
	var sides []stamp
	for _, p := range []string{c.Path, c.OldPath} {
		if p == "" {
			continue
		}
		for _, root := range []*os.File{project, layer} {
			st, err := stampAt(root, p)
			if err != nil {
				return "" // not to be known: never the same as anything
			}
			sides = append(sides, st)
		}
	}
	text, err := json.Marshal(sides)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(append(text, c.New.Link...))
	return hex.EncodeToString(sum[:8])
}

// asSeen refuses a change that looks other than it did to the reviewer. It comes
// before the content is read: what is written after this shows as a change again.
func (r *Review) asSeen(p *pick, seen map[string]string) error {
	was, asked := seen[p.Path]
	if !asked || (was != "" && was == Fingerprint(r.project, r.layer, p.Change)) {
		return nil
	}
	return sandbox.Errorf(sandbox.Conflict, "%.128q is another than it was when you looked at it", p.Path).
		WithHint("nothing was applied; look at the diff again")
}

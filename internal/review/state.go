package review

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/coop-dev/coop/internal/linux/within"
)

// State is what a review remembers of a sandbox between requests; a file in the
// sandbox's directory.
//
// What was approved or discarded may lie in the layer until the sandbox is
// started again. As long as it looks as it did then, it is no change any more,
// whatever becomes of the project's file.
type State struct {
	Base     time.Time // from when on a change of the project's is one; zero: from the beginning
	Approved int       // how many changes ever were
	Dropped  int
	entries  map[string]*entry
	path     string
}

// entry is what is known of one path.
type entry struct {
	Path    []byte `json:"path"`              // raw bytes
	Settled string `json:"settled,omitempty"` // approved or discarded; empty when part of it is pending
	Layer   stamp  `json:"layer"`             // how the workspace's side looked when it was settled
	Project stamp  `json:"project"`           // how the project's side looked when we left it
	Base    string `json:"base,omitempty"`    // name of saved content both sides descend from
	Held    bool   `json:"held,omitempty"`    // a conflict that a rebase could not settle
}

// stamp tells whether an entry was touched since. The zero stamp is of nothing.
type stamp struct {
	Ino   uint64    `json:"ino,omitempty"`
	CTime time.Time `json:"ctime,omitzero"`
	Size  int64     `json:"size,omitempty"`
	Mode  uint32    `json:"mode,omitempty"`
}

const (
	approved  = "approved"
	discarded = "discarded"
)

func stampOf(st within.Stat) stamp {
	s := stamp{Ino: st.Ino, CTime: st.CTime.UTC(), Size: st.Size, Mode: uint32(st.Mode)}
	if st.Mode.IsDir() {
		s.CTime, s.Size = time.Time{}, 0 // they tell of what is in it
	}
	return s
}

// stampAt is of a path below a root; zero when nothing is there.
func stampAt(root *os.File, path string) (stamp, error) {
	st, err := within.LstatPath(root, path)
	if isNothing(err) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, err
	}
	return stampOf(st), nil
}

func (s stamp) equal(o stamp) bool {
	return s.Ino == o.Ino && s.CTime.Equal(o.CTime) && s.Size == o.Size && s.Mode == o.Mode
}

// LoadState reads what there is; a sandbox nobody has reviewed has nothing.
func LoadState(dir string) (*State, error) {
	s := &State{entries: map[string]*entry{}, path: filepath.Join(dir, "state.json")}
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	var f stateFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("review state %s: %w", s.path, err)
	}
	s.Base, s.Approved, s.Dropped = f.Base, f.Approved, f.Dropped
	for _, e := range f.Entries {
		s.entries[string(e.Path)] = e
	}
	return s, nil
}

type stateFile struct {
	Base     time.Time `json:"base,omitzero"`
	Approved int       `json:"approved"`
	Dropped  int       `json:"dropped"`
	Entries  []*entry  `json:"entries"`
}

// save replaces the file in one step.
func (s *State) save() error {
	f := stateFile{Base: s.Base, Approved: s.Approved, Dropped: s.Dropped}
	for _, e := range s.entries {
		f.Entries = append(f.Entries, e)
	}
	slices.SortFunc(f.Entries, func(a, b *entry) int { return slices.Compare(a.Path, b.Path) })
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return replaceFile(s.path, data)
}

func replaceFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // it was renamed, normally
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func (s *State) note(path string) *entry {
	e := s.entries[path]
	if e == nil {
		e = &entry{Path: []byte(path)}
		s.entries[path] = e
	}
	return e
}

// settled says how a path was settled, if its side of the layer still looks so.
func (s *State) settled(path string, layer *os.File) (string, error) {
	e := s.entries[path]
	if e == nil || e.Settled == "" {
		return "", nil
	}
	now, err := stampAt(layer, path)
	if err != nil || !now.equal(e.Layer) {
		return "", err
	}
	return e.Settled, nil
}

// saveBase keeps content that both sides of a file descend from.
func (s *State) saveBase(data []byte, sum [32]byte) (string, error) {
	name := hex.EncodeToString(sum[:])
	p := filepath.Join(filepath.Dir(s.path), "base", name)
	if _, err := os.Stat(p); err == nil {
		return name, nil
	}
	return name, replaceFile(p, data)
}

func (s *State) readBase(name string) ([]byte, error) {
	if _, err := hex.DecodeString(name); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(filepath.Dir(s.path), "base", name))
}

// isNothing: nothing is at a path, or nothing can be, because what should be a
// directory on the way is none.
func isNothing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNotDir(err)
}

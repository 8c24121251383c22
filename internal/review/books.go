package review

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Interrupted is a request that was cut short, and how it was ended.
type Interrupted struct {
	*Recovery
	Sandbox sandbox.ID
	Name    string
	Actor   string
	At      time.Time
	Paths   []string
}

// Journals lists the sandboxes whose journals are there.
func Journals(home string) []sandbox.ID {
	found, _ := os.ReadDir(home) // none: nobody has reviewed anything yet
	var out []sandbox.ID
	for _, f := range found {
		if id, ok := strings.CutSuffix(f.Name(), ".journal"); ok {
			out = append(out, sandbox.ID(id))
		}
	}
	return out
}

// Settle ends an interrupted request of a sandbox and brings what the review
// remembers up to date; nil when there was none. The caller writes down what it
// tells and then calls Forget.
func Settle(home string, id sandbox.ID) (*Interrupted, error) {
	r, err := Recover(JournalOf(home, id))
	if err != nil || r == nil {
		return nil, err
	}
	var m memo
	if err := json.Unmarshal(r.Note, &m); err != nil {
		return nil, fmt.Errorf("journal of %s: %w", id, err)
	}
	out := &Interrupted{Recovery: r, Sandbox: id, Name: m.Name, Actor: m.Actor, At: m.At}
	for _, p := range m.Paths {
		out.Paths = append(out.Paths, string(p))
	}
	if !r.Completed {
		return out, nil
	}
	return out, m.settle(r.Project)
}

// settle notes as approved what was completed, unless that had been done.
func (m *memo) settle(project string) error {
	if _, err := os.Stat(filepath.Dir(m.Dir)); err != nil {
		return nil //nolint:nilerr // the sandbox was removed meanwhile
	}
	dir, err := openDir(project)
	if err != nil {
		return nil //nolint:nilerr // without the project there is nothing to note
	}
	defer dir.Close()
	s, err := LoadState(m.Dir)
	if err != nil {
		return err
	}
	for _, e := range m.Entries {
		if known := s.entries[string(e.Path)]; known != nil && known.Settled != "" && known.Layer.equal(e.Layer) {
			continue
		}
		if e.Project, err = stampAt(dir, string(e.Path)); err != nil {
			return err
		}
		s.entries[string(e.Path)] = e
		s.Approved++
	}
	return s.save()
}

// Message is one line for a person.
func (i *Interrupted) Message() string {
	what := "was undone: the project is as before"
	if i.Completed {
		what = "was completed"
	}
	line := fmt.Sprintf("an approve of %d changes of %s at %s was interrupted and %s",
		len(i.Paths), i.Name, i.At.Local().Format("15:04:05"), what)
	if len(i.Problems) > 0 {
		line += "; " + strings.Join(i.Problems, "; ")
	}
	return line
}

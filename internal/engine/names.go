package engine

import (
	"fmt"
	"sync"

	"github.com/coop-dev/coop/internal/sandbox"
)

// names knows which sandbox has which name, so that a free one is found without
// asking the store. The store refuses a duplicate all the same.
type names struct {
	mu   sync.Mutex
	held map[string]sandbox.ID
}

// take reserves the name a sandbox asks for, or finds it one after its workspace.
func (n *names) take(r *sandbox.Record) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if asked := r.Spec.Name; asked != "" {
		if id, ok := n.held[asked]; ok {
			return "", sandbox.Errorf(sandbox.Conflict, "the name %q is taken", asked).
				WithHint("choose another name, or remove it with: coop rm %s", asked).
				WithDetail("existing", string(id)).WithDetail("field", "name")
		}
		return n.hold(asked, r.ID), nil
	}
	base := "sandbox"
	if r.Spec.Workspace.Source != "" {
		base = sandbox.NameFor(r.Spec.Workspace.Source)
	}
	name := base
	for i := 2; n.held[name] != ""; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
	}
	return n.hold(name, r.ID), nil
}

func (n *names) hold(name string, id sandbox.ID) string {
	if n.held == nil {
		n.held = map[string]sandbox.ID{}
	}
	n.held[name] = id
	return name
}

// note enters a name found in the store.
func (n *names) note(name string, id sandbox.ID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hold(name, id)
}

// id finds the sandbox that has a name.
func (n *names) id(name string) sandbox.ID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held[name]
}

func (n *names) release(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.held, name)
}

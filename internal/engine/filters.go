package engine

import (
	"fmt"
	"strings"
	"sync"

	"github.com/coop-dev/coop/internal/fence"
	"github.com/coop-dev/coop/internal/linux/seccomp"
	"github.com/coop-dev/coop/internal/sandbox"
)

// filters keeps compiled system-call filters: compiling one takes longer than
// most of a create.
type filters struct {
	mu    sync.Mutex
	known map[string][]byte
}

// get compiles a profile once.
func (f *filters) get(profile string, emulate bool, without []string) ([]byte, error) {
	key := fmt.Sprint(profile, emulate, without)
	f.mu.Lock()
	defer f.mu.Unlock()
	if b, ok := f.known[key]; ok {
		return b, nil
	}
	b, err := compile(profile, emulate, without)
	if err != nil {
		return nil, err
	}
	if f.known == nil {
		f.known = map[string][]byte{}
	}
	f.known[key] = b
	return b, nil
}

// compile makes the filter. Fences that are no system-call rule are other
// people's.
func compile(profile string, emulate bool, without []string) ([]byte, error) {
	if fence.Gone(without, fence.Seccomp) {
		return nil, nil
	}
	var calls []string
	for _, name := range without {
		if !fence.Structural(name) {
			calls = append(calls, name)
		}
	}
	return seccomp.Compile(seccomp.Profile(profile), seccomp.Options{RootEmulation: emulate, Without: calls})
}

// fencesTakenAway is nothing but in the build that proves the fences.
func fencesTakenAway(r *sandbox.Record) []string {
	if v := r.Spec.Labels[fence.Label]; fence.Removable && v != "" {
		return strings.Split(v, ",")
	}
	return nil
}

// Package probe owns the answer to "can this host run sandboxes, and if not, what is
// to be done": for coop doctor, for GET /doctor and for explaining a create that
// failed.
//
// Where the answer depends on the kernel's mood (namespaces, mounts), it tries the real
// thing in a child process in namespaces of its own, because sysctls and version
// numbers do not tell of AppArmor, outer containers or the filesystem below the home.
// A multi-threaded program cannot do that in itself, so the child is this same binary
// executed again: main calls [MaybeChild] before anything else.
//
// It refuses to change the host: nothing is loaded, enabled or left behind.
//
// Invariant: every check that is not OK says in Detail what was refused and in Hint
// what to do about it.
package probe

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// deadline bounds the whole of Run on a host where something hangs. It is far above the
// usual 50 ms, because a check that failed only for a busy machine would send its
// reader after the wrong cause.
const deadline = 5 * time.Second

// Check is one ability of the host.
type Check struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Required bool   `json:"required"`       // without it no sandbox can be made safely
	Detail   string `json:"detail"`         // one line: what was found or refused, with the errno
	Hint     string `json:"hint,omitempty"` // what to do; may be several lines to copy
}

// Options say for which installation the host is examined.
type Options struct {
	Home string // COOP_HOME; it need not exist yet
}

// Run examines the host and returns the checks in a fixed order, the most basic
// first. It usually takes less than 0.1 s and never much more than 5 s.
func Run(ctx context.Context, o Options) []Check {
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("no answer within %v", deadline))
	defer cancel()
	return newHost(o).run(ctx)
}

// run examines user namespaces first, because the tries of others happen inside one.
func (h *host) run(ctx context.Context) []Check {
	h.usable = h.userns(ctx)
	groups := []func(context.Context) []Check{
		one(h.kernel),
		func(context.Context) []Check { return []Check{h.usable} },
		one(h.idmap), h.mounts, one(h.copying), one(h.procMount), one(h.netns),
		one(h.seccomp), one(h.landlock), one(h.pidfd), one(h.clone3), one(h.cgroup),
		one(h.homeDir), one(h.tiocsti), one(h.fuse), one(h.tun),
	}
	answers := make([][]Check, len(groups))
	var wg sync.WaitGroup
	for i, group := range groups {
		wg.Go(func() { answers[i] = group(ctx) })
	}
	wg.Wait()
	var all []Check
	for _, checks := range answers {
		all = append(all, checks...)
	}
	return all
}

func one(check func(context.Context) Check) func(context.Context) []Check {
	return func(ctx context.Context) []Check { return []Check{check(ctx)} }
}

// UnmetError is a required ability that the host lacks.
type UnmetError struct{ Check Check }

// Error leaves the hint out: hints are shown apart from errors.
func (e *UnmetError) Error() string {
	return fmt.Sprintf("host cannot run sandboxes: %s: %s", e.Check.Name, e.Check.Detail)
}

// Missing returns an [*UnmetError] for the first required check that failed, or nil.
// The order of [Run] makes the first one the cause of those after it.
func Missing(checks []Check) error {
	for _, c := range checks {
		if c.Required && !c.OK {
			return &UnmetError{Check: c}
		}
	}
	return nil
}

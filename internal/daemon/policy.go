package daemon

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/config"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Create makes a sandbox that daemon.toml permits.
func (a adapter) Create(ctx context.Context, spec sandbox.Spec, o engine.CreateOptions) (engine.View, bool, error) {
	spec, err := permit(a.settings, spec)
	if err != nil {
		return engine.View{}, false, err
	}
	if err := namesAllowed(a.settings, spec.Image, a.Images.NamesOf(spec.Image)); err != nil {
		return engine.View{}, false, err
	}
	return a.Engine.Create(ctx, spec, o)
}

// permit applies daemon.toml to the specification of a new sandbox: allowed
// images, and limits that are missing or too high. A limit of daemon.toml was
// asked for by a person: where the host cannot enforce it the sandbox fails
// closed.
func permit(s config.Daemon, spec sandbox.Spec) (sandbox.Spec, error) {
	if err := imageAllowed(s, spec.Image); err != nil {
		return spec, err
	}
	l := spec.Limits
	l.Asked = slices.Clone(l.Asked)
	err := cmp.Or(
		bound("cpu", &l.CPU, s.Default.CPU, s.Maximum.CPU, &l.Asked),
		bound("memory", &l.MemoryBytes, int64(s.Default.Memory), int64(s.Maximum.Memory), &l.Asked),
		bound("pids", &l.PIDs, s.Default.PIDs, s.Maximum.PIDs, &l.Asked),
		bound("exec timeout", &l.ExecTimeout, time.Duration(s.Default.ExecTimeout), time.Duration(s.Maximum.ExecTimeout), nil),
	)
	spec.Limits = l
	if err != nil {
		return spec, err
	}
	return spec, nil
}

// bound sets a limit that nobody asked for to the default, or to the maximum
// where that is less, and refuses one that is higher than the maximum.
func bound[N int64 | float64 | time.Duration](name string, limit *N, usual, utmost N, asked *[]string) *sandbox.Error {
	if asked == nil && *limit != 0 || asked != nil && slices.Contains(*asked, name) {
		if utmost != 0 && *limit > utmost {
			return sandbox.Errorf(sandbox.Denied, "%s limit %s is more than this daemon allows, %s", name, shown(name, *limit), shown(name, utmost)).
				WithHint("ask for less; limits.maximum in daemon.toml sets the most")
		}
		return nil
	}
	if usual == 0 && (*limit == 0 || *limit > utmost) {
		usual = utmost
	}
	if usual == 0 {
		return nil
	}
	*limit = usual
	if asked != nil {
		*asked = append(*asked, name)
	}
	return nil
}

// shown writes a limit as people do.
func shown[N int64 | float64 | time.Duration](name string, n N) string {
	if name == "memory" {
		return api.Size(n).String()
	}
	return fmt.Sprint(n)
}

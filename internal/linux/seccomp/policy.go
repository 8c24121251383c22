package seccomp

import (
	"fmt"
	"slices"

	profiles "github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/caps"
)

// policy is what each named call gets. A call without an entry is refused.
type policy map[string]block

func (p policy) set(answer block, names ...string) {
	for _, name := range names {
		p[name] = answer
	}
}

func nosys() block { return errno(unix.ENOSYS) }

// policyFor lays one over the other: what containers may usually do, what every
// profile takes from that, the profile's own part, the options.
func policyFor(p Profile, o Options, t target) (policy, error) {
	pol := containerUsual(t)
	common(pol)
	switch p {
	case Default:
	case Strict:
		strict(pol)
	case Nesting:
		nesting(pol)
	default:
		return nil, fmt.Errorf("seccomp profile %q: not one of default, strict, nesting, off", p)
	}
	if o.RootEmulation {
		emulateRoot(pol)
	}
	return pol, without(pol, o.Without)
}

func without(pol policy, names []string) error {
	for _, name := range names {
		if name == "arch" || name == "x32" {
			continue
		}
		if !exists(name) {
			return fmt.Errorf("seccomp without %q: no such system call", name)
		}
		pol.set(allow(), name)
	}
	return nil
}

// containerUsual is moby's default profile, read as data: the calls it allows
// whatever their arguments, for the capabilities our programs have. Its rules
// about arguments are not taken over; ours are stricter (arguments.go).
func containerUsual(t target) policy {
	pol := policy{}
	for _, rule := range profiles.DefaultProfile().Syscalls {
		if rule.Action != specs.ActAllow || len(rule.Args) > 0 || !applies(rule, t) {
			continue
		}
		for _, name := range rule.Names {
			if _, ok := t.numbers[name]; ok {
				pol.set(allow(), name)
			}
		}
	}
	return pol
}

// applies resolves moby's conditions. MinKernel is left out: it asks for 4.8 and
// sandboxes need far more than that.
func applies(rule *profiles.Syscall, t target) bool {
	if in := rule.Includes; in != nil {
		if len(in.Arches) > 0 && !slices.Contains(in.Arches, t.goarch) {
			return false
		}
		if slices.ContainsFunc(in.Caps, func(name string) bool { return !programsHave(name) }) {
			return false
		}
	}
	if ex := rule.Excludes; ex != nil {
		return !slices.Contains(ex.Arches, t.goarch) && !slices.ContainsFunc(ex.Caps, programsHave)
	}
	return true
}

func programsHave(capability string) bool {
	c, err := caps.Parse(capability)
	return err == nil && caps.Programs.Has(c)
}

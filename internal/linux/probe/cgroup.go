package probe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coop-dev/coop/internal/linux/cgroup"
)

// cgroup is optional: without it sandboxes run, but refuse limits that a user asks for.
func (h *host) cgroup(context.Context) Check {
	found, err := cgroup.Detect("coop")
	if err != nil {
		return Check{Name: "cgroup", Detail: err.Error(), Hint: "mount /proc"}
	}
	return judgeCgroup(found)
}

func judgeCgroup(found cgroup.Host) Check {
	c := Check{Name: "cgroup", Hint: found.Hint}
	if found.Layout == cgroup.None {
		c.Detail = "no limits: " + found.Reason
		return c
	}
	c.OK = len(found.Missing) == 0
	c.Detail = fmt.Sprintf("%s hierarchy at %s", found.Layout, found.Path)
	var missing []string
	for _, limit := range slices.Sorted(maps.Keys(found.Missing)) {
		missing = append(missing, fmt.Sprintf("no %s limit (%s)", limit, found.Missing[limit]))
	}
	if len(missing) > 0 {
		c.Detail += ": " + strings.Join(missing, ", ")
	}
	return c
}

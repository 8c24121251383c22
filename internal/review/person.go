package review

import (
	"context"
	"os/user"
	"strconv"
	"strings"
	"unicode"

	"github.com/coop-dev/coop/internal/sandbox"
)

// author decides who the author is, and what is said of the other.
func (r *Review) author(asked, reviewer string) (author, trailer string, err error) {
	agent := identity(r.Name, r.Name+"@coop.invalid")
	if asked == "" {
		asked = r.Policy.CommitAuthor
	}
	switch asked {
	case "", "reviewer":
		return reviewer, "", nil
	case "agent":
		return agent, "", nil
	case "coauthor":
		return reviewer, "\nCo-authored-by: " + agent + "\n", nil
	}
	name, rest, ok := strings.Cut(asked, "<")
	address, end, closed := strings.Cut(rest, ">")
	if !ok || !closed || strings.TrimSpace(end) != "" || strings.TrimSpace(name) == "" {
		return "", "", sandbox.Errorf(sandbox.Invalid, "author %.128q is not agent, reviewer, coauthor or Name <address>", asked)
	}
	return identity(name, address), "", nil
}

// identity is a name and address as git wants them.
func identity(name, address string) string {
	clean := func(s string) string {
		return strings.TrimSpace(strings.Map(func(c rune) rune {
			if c == '<' || c == '>' || unicode.IsControl(c) {
				return -1
			}
			return c
		}, s))
	}
	return clean(name) + " <" + clean(address) + ">"
}

// reviewer is who git takes the person for. Reading configuration runs nothing,
// so that their own may be read here, unlike anywhere else.
func (r *Review) reviewer(ctx context.Context, gitDir string) string {
	g := r.gitOf(gitDir)
	g.personal = homeOf(g)
	get := func(key string) string {
		out, err := g.run(ctx, nil, "config", "--get", key)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	name, address := get("user.name"), get("user.email")
	if name == "" {
		name = "Coop reviewer"
	}
	if address == "" {
		address = "reviewer@coop.invalid"
	}
	return identity(name, address)
}

// homeOf is the home of whoever git runs as.
func homeOf(g git) string {
	if g.as {
		if u, err := user.LookupId(strconv.Itoa(int(g.uid))); err == nil {
			return u.HomeDir
		}
		return "/nonexistent"
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return "/nonexistent"
}

package changes

import "fmt"

// Policy is what decides about changes before a person does. See glob for the
// patterns.
type Policy struct {
	Deny     []string // never applied, listed as denied; "a/**" is one change for the whole tree
	Flag     []string // "glob", or "glob#key" for one key of a JSON or TOML file
	Allow    []string // when not empty, everything else is denied
	MaxBytes int64    // larger new files are denied; 0 means no limit
	NoBinary bool     // new binary content is denied
}

// DefaultPolicy denies git's own files and flags what makes the host run code
// later.
func DefaultPolicy() *Policy {
	p := &Policy{Deny: []string{".git/**"}}
	for _, f := range hostRuns {
		p.Flag = append(p.Flag, f.glob)
	}
	return p
}

// Check refuses patterns that cannot be understood.
func (p *Policy) Check() error {
	for _, list := range [][]string{p.Deny, p.Allow} {
		for _, g := range list {
			if err := checkGlob(g); err != nil {
				return err
			}
		}
	}
	for _, f := range p.Flag {
		g, _ := cutKey(f)
		if err := checkGlob(g); err != nil {
			return err
		}
	}
	return nil
}

// judge is a policy made ready for many paths.
type judge struct {
	*Policy
	deny, allow []glob
	flags       []flag
}

func (p *Policy) judge() *judge {
	j := &judge{Policy: p}
	for _, g := range p.Deny {
		j.deny = append(j.deny, compile(g, true))
	}
	for _, g := range p.Allow {
		j.allow = append(j.allow, compile(g, false))
	}
	for _, f := range p.Flag {
		j.flags = append(j.flags, newFlag(f))
	}
	return j
}

// deniesTree gives the pattern that denies a path with everything below it.
func (j *judge) deniesTree(path string) string {
	if len(j.deny) == 0 {
		return ""
	}
	n := name(path)
	for _, g := range j.deny {
		if g.tree(n) {
			return g.text
		}
	}
	return ""
}

// denies gives the rule that keeps a change from being applied.
func (j *judge) denies(c Change, n named) string {
	for _, g := range j.deny {
		if g.matches(n) {
			return g.text
		}
	}
	if len(j.allow) > 0 && !anyMatches(j.allow, n) {
		return "not among the allowed paths"
	}
	if c.New.Exists && c.New.Mode.IsRegular() && c.Kind != ModeOnly {
		switch {
		case j.MaxBytes > 0 && c.New.Size > j.MaxBytes:
			return fmt.Sprintf("larger than %d bytes", j.MaxBytes)
		case j.NoBinary && c.Binary:
			return "binary"
		}
	}
	return ""
}

func anyMatches(list []glob, n named) bool {
	for _, g := range list {
		if g.matches(n) {
			return true
		}
	}
	return false
}

package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const dollarHint = "$NAME, ${NAME} and ${NAME:-default} come from the host; $$ is a dollar sign"

var errDollar = errors.New("a $ that names no variable")

// Environ is [env] with what it asks for of the host's environment, but for the
// names that are given otherwise. What is asked for and not there is an error:
// an agent without its key fails much later.
func (c *Config) Environ(lookup func(string) (string, bool), given map[string]string) (map[string]string, error) {
	out := map[string]string{}
	var ps problems
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if _, ok := given[name]; ok {
			continue
		}
		value, missing, err := expand(c.Env[name], lookup)
		if err != nil {
			return nil, err // Load has refused it already
		}
		if missing != "" {
			ps.add(c.at("env."+name), "env.%s: %s is not set here", name, missing).Hint = fmt.Sprintf("export %s, or write ${%s:-} where it may be missing", missing, missing)
		}
		out[name] = value
	}
	if err := ps.err(); err != nil {
		return nil, err
	}
	maps.Copy(out, given)
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

func checkExpression(v any) error {
	s, _ := v.(string)
	if err := checkNoNUL(s); err != nil {
		return err
	}
	if _, _, err := expand(s, func(string) (string, bool) { return "", true }); err != nil {
		return withHint(dollarHint, "%s", err)
	}
	return nil
}

// expand replaces variables. missing is the first that is not there.
func expand(text string, lookup func(string) (string, bool)) (value, missing string, err error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		b.WriteString(before)
		if !found {
			return b.String(), missing, nil
		}
		if rest, ok := strings.CutPrefix(after, "$"); ok {
			b.WriteByte('$')
			text = rest
			continue
		}
		v, rest, err := reference(after)
		if err != nil {
			return "", "", err
		}
		host, isSet := lookup(v.name)
		switch {
		case v.hasDefault && host == "": // as in the shell, also when it is set to nothing
			host = v.fallback
		case !isSet && missing == "":
			missing = v.name
		}
		b.WriteString(host)
		text = rest
	}
}

// variable is one reference to the host's environment.
type variable struct {
	name, fallback string
	hasDefault     bool
}

// reference reads NAME, {NAME} or {NAME:-default} after a dollar sign.
func reference(s string) (v variable, rest string, err error) {
	if inner, braces := strings.CutPrefix(s, "{"); braces {
		inner, rest, braces = strings.Cut(inner, "}")
		v.name, v.fallback, v.hasDefault = strings.Cut(inner, ":-")
		if !braces || !validVariable(v.name) {
			return v, "", errDollar
		}
		return v, rest, nil
	}
	end := 0
	for end < len(s) && validVariable(s[:end+1]) {
		end++
	}
	if end == 0 {
		return v, "", errDollar
	}
	v.name = s[:end]
	return v, s[end:], nil
}

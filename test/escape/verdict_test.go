package escape

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// verdict is what an attack reports: which of its attempts worked and what the
// others were refused with.
type verdict struct {
	Attack  string
	Worked  []string
	Refused []refusal
}

type refusal struct {
	Attempt string
	Errno   syscall.Errno
	Text    string
}

// attempts is an attack in several variants. They all have the same fence: with
// it each must be refused, without it each must work.
type attempts struct{ verdict }

func (a *attempts) try(what string, err error) {
	if err == nil {
		a.Worked = append(a.Worked, what)
		return
	}
	r := refusal{Attempt: what, Text: err.Error()}
	errors.As(err, &r.Errno)
	a.Refused = append(a.Refused, r)
}

// result is nil when every attempt worked.
func (a *attempts) result() error {
	if len(a.Refused) == 0 && len(a.Worked) > 0 {
		return nil
	}
	return a
}

func (a *attempts) Error() string { return a.verdict.String() }

// judge turns what Run returned into a verdict.
func judge(name string, err error) verdict {
	v := verdict{Attack: name}
	var many *attempts
	switch {
	case err == nil:
		v.Worked = []string{name}
	case errors.As(err, &many):
		v.Worked, v.Refused = many.Worked, many.Refused
	default:
		r := refusal{Attempt: name, Text: err.Error()}
		errors.As(err, &r.Errno)
		v.Refused = []refusal{r}
	}
	return v
}

// denied checks that nothing worked and every refusal is of the kind expected.
func (v verdict) denied(want []syscall.Errno) error {
	if len(v.Worked) > 0 {
		return fmt.Errorf("the attack worked: %v", v)
	}
	for _, r := range v.Refused {
		if !slices.Contains(want, r.Errno) {
			return fmt.Errorf("refused for another reason than %v: %v", want, v)
		}
	}
	if len(v.Refused) == 0 {
		return errors.New("nothing was attempted")
	}
	return nil
}

// worked checks that every attempt did.
func (v verdict) worked() error {
	if len(v.Refused) > 0 || len(v.Worked) == 0 {
		return fmt.Errorf("still refused: %v", v)
	}
	return nil
}

func (v verdict) String() string {
	var b strings.Builder
	for _, w := range v.Worked {
		fmt.Fprintf(&b, "\n\t%s: worked", w)
	}
	for _, r := range v.Refused {
		fmt.Fprintf(&b, "\n\t%s: %s [%d]", r.Attempt, r.Text, int(r.Errno))
	}
	return b.String()
}

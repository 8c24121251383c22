package escape

import (
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/test/harness"
)

// TestAttacks runs them all and prints the table that SECURITY.md publishes.
func TestAttacks(t *testing.T) {
	mode := harness.Mode()
	var once sync.Once
	sharedProbe(t, &once)
	var rows table
	t.Run("each", func(t *testing.T) {
		for _, a := range attacks() {
			t.Run(a.Name, func(t *testing.T) {
				t.Parallel()
				a, c := a.as(mode)
				r := row{attack: a, Why: c.Why, Result: "refused"}
				defer func() { rows.add(r, t.Failed()) }()
				if c.Skip {
					r.Result = "not applicable"
					return
				}
				r.Errno = prove(t, a, mode)
			})
		}
	})
	rows.publish(t, mode)
}

// TestTableIsComplete checks the table itself: every attack says what it proves
// and how.
func TestTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range attacks() {
		if seen[a.Name] {
			t.Errorf("%s is there twice", a.Name)
		}
		seen[a.Name] = true
		if a.Class == "" || a.Attack == "" || a.Proves == "" || (a.Run == nil) == (a.Drive == nil) {
			t.Errorf("%s lacks a class, a sentence, what it proves or the attack itself", a.Name)
		}
		if !a.proven() {
			t.Errorf("%s does not show that its fence is what stops it", a.Name)
		}
		if (a.Second != "") != (len(a.SecondErrno) > 0) {
			t.Errorf("%s: a second fence and its errno go together", a.Name)
		}
	}
}

// prove makes the runs of one attack and returns what the default sandbox
// refused it with.
func prove(t *testing.T, a attack, mode string) []syscall.Errno {
	if a.Allowed != "" {
		check(t, "on purpose", run(t, a, mode, nil, a.Open).worked())
		return nil
	}
	v := run(t, a, mode, nil, nil)
	check(t, "default sandbox", v.denied(a.Denied))
	if len(a.Open) > 0 {
		check(t, "with "+strings.Join(a.Open, " "), run(t, a, mode, nil, a.Open).worked())
	}
	if len(a.Fence) > 0 {
		withoutFence(t, a, mode)
	}
	return v.errnos()
}

func withoutFence(t *testing.T, a attack, mode string) {
	v := run(t, a, mode, a.Fence, nil)
	if a.Second == "" {
		check(t, "without "+strings.Join(a.Fence, ","), v.worked())
		return
	}
	check(t, "without "+strings.Join(a.Fence, ",")+", held by "+a.Second, v.denied(a.SecondErrno))
	if len(a.Opens) > 0 {
		check(t, "without "+strings.Join(a.Opens, ","), run(t, a, mode, a.Opens, nil).worked())
	}
	if len(a.Both) == 0 {
		return
	}
	alone := a.BothErrno
	if alone == nil {
		alone = a.Denied
	}
	check(t, "without "+strings.Join(a.Both, ","), run(t, a, mode, a.Both, nil).denied(alone))
	check(t, "without both", run(t, a, mode, slices.Concat(a.Fence, a.Both), nil).worked())
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// run makes a sandbox, carries the attack out in it and looks at it afterwards.
func run(t *testing.T, a attack, mode string, without, flags []string) verdict {
	t.Helper()
	b := newBox(t, a, mode, without, flags)
	if a.Drive != nil {
		return judge(a.Name, a.Drive(t, b))
	}
	pristine := len(without) == 0 && len(flags) == 0
	if pristine && a.Control != nil {
		check(t, "control", b.run(t, a, partControl).worked())
	}
	v := b.run(t, a, partRun)
	if a.After != nil && len(v.Worked) == 0 {
		if err := a.After(t, b); err != nil {
			return verdict{Attack: a.Name, Worked: []string{err.Error()}}
		}
	}
	return v
}

// run carries out one part inside. No verdict is a broken probe, except where
// success takes the sandbox down.
func (b *box) run(t *testing.T, a attack, part string) verdict {
	t.Helper()
	done := make(chan struct{})
	var beside sync.WaitGroup
	if a.During != nil && part == partRun {
		beside.Go(func() { a.During(t, b, done) })
	}
	r := b.home.Coop(t, b.command(a.Name, part)...)
	close(done)
	beside.Wait()
	v, ok := readVerdict(r.Stdout)
	if ok {
		return v
	}
	if a.Ends && b.answers(t) != nil {
		return verdict{Attack: a.Name, Worked: []string{a.Name}}
	}
	t.Fatalf("no verdict: exit status %d: %s%s", r.Code, r.Stdout, r.Stderr)
	return v
}

func (v verdict) errnos() []syscall.Errno {
	var list []syscall.Errno
	for _, r := range v.Refused {
		if !slices.Contains(list, r.Errno) {
			list = append(list, r.Errno)
		}
	}
	slices.Sort(list)
	return list
}

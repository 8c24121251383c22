package escape

import (
	"syscall"
	"testing"
)

// Classes of ../../SECURITY.md.
const (
	runtimeClass = "Runtime"
	kernelClass  = "Kernel surface"
	idsClass     = "Ids"
	ipcClass     = "Sockets and IPC"
)

// Ways the daemon can run, as harness.Mode names them.
const (
	asRoot   = "root"
	asUser   = "user"
	singleID = "user-single-id"
)

// attack is one thing a hostile program tries.
//
//	run                    expected
//	as it is               refused with one of Denied
//	Control                works: the attempt itself is sound
//	without Fence          works; with Second: refused with one of SecondErrno
//	without Both           refused with one of Denied (or BothErrno): Fence alone holds
//	without Fence and Both works
//	without Opens          works: the second fence is the one that counts
//	with Open              works: flags of `coop create` that a user may give
type attack struct {
	Class  string
	Name   string
	Attack string // what is tried, one sentence
	Proves string // what the refusal shows
	CVE    string

	// Run is the attack, inside. nil means that it worked; an error wraps the
	// errno it was refused with.
	Run func() error
	// Child is what a program started by Run or Drive does instead.
	Child func() error
	// Drive is the attack seen from outside, instead of Run.
	Drive func(*testing.T, *box) error
	// Host prepares the host before the sandbox is made.
	Host func(*testing.T, *box)
	// During runs on the host beside Run and ends when done is closed.
	During func(t *testing.T, b *box, done <-chan struct{})
	// After looks at the sandbox from outside once Run was refused; an error
	// means that harm was done all the same.
	After func(*testing.T, *box) error
	// Control is Run on something unprotected, inside the default sandbox.
	Control func() error

	Denied      []syscall.Errno
	Fence       []string // taken away in the second run
	Fixed       string   // the fence that cannot be taken away; needs Control, or a Drive that has one
	Second      string
	SecondErrno []syscall.Errno
	Both        []string
	BothErrno   []syscall.Errno
	Opens       []string
	Open        []string

	Ends    bool   // success ends the sandbox, so that no verdict comes out
	Private bool   // success harms the daemon: it gets one of its own
	Allowed string // why it works on purpose: the run must succeed

	// In says what differs in a mode; Why is the reason.
	In map[string]change
}

// change replaces what is set in it.
type change struct {
	Why         string
	Skip        bool // the attack needs what this mode has not
	Denied      []syscall.Errno
	Second      string
	SecondErrno []syscall.Errno
	NoBoth      bool
}

// as is the attack with the expectations of a mode.
func (a attack) as(mode string) (attack, change) {
	c := a.In[mode]
	if c.Denied != nil {
		a.Denied = c.Denied
	}
	if c.Second != "" {
		a.Second, a.SecondErrno = c.Second, c.SecondErrno
	}
	if c.NoBoth {
		a.Both = nil
	}
	return a, c
}

// proven reports whether the attack says how its denial is shown to be the
// fence's doing.
func (a attack) proven() bool {
	return len(a.Fence) > 0 || len(a.Open) > 0 || a.Control != nil || a.Allowed != "" || (a.Drive != nil && a.Fixed != "")
}

func errnos(list ...syscall.Errno) []syscall.Errno { return list }

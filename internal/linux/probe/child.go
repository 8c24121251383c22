package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// childArg is the first argument of a child; no command of coop has this name.
const childArg = "__probe"

// attempt is what a child reports about one ability.
type attempt struct {
	Name  string        `json:"name"`
	Step  string        `json:"step,omitempty"` // the call that was refused; empty if none
	Errno syscall.Errno `json:"errno,omitempty"`
}

// MaybeChild does a child's work if args, usually os.Args, are those of a child of
// [Run], and reports whether it did: then main returns at once. It must be called
// before flags are parsed or anything is opened.
func MaybeChild(args []string) (handled bool) {
	if len(args) < 3 || args[1] != childArg {
		return false
	}
	var attempts []attempt
	switch args[2] {
	case "userns":
		attempts = childUserns()
	case "mounts":
		attempts = childMounts(args[3:])
	case "proc":
		attempts = childProc()
	case "net":
		attempts = childNet()
	case "hold":
		childHold()
	}
	_ = json.NewEncoder(os.Stdout).Encode(attempts) // a parent that is gone needs no answer
	return true
}

// result turns the outcome of a call into an attempt.
func result(name, step string, err error) attempt {
	if err == nil {
		return attempt{Name: name}
	}
	errno := syscall.EIO // not a system call's error
	errors.As(err, &errno)
	return attempt{Name: name, Step: step, Errno: errno}
}

// tryIn runs a child in new namespaces, where it is root of its own if flags make a
// user namespace, and returns its attempts by name.
func tryIn(ctx context.Context, flags uintptr, args ...string) (map[string]attempt, error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{childArg}, args...)...)
	cmd.SysProcAttr = attributes(flags)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return nil, explain(ctx, err)
	}
	var attempts []attempt
	if err := json.Unmarshal(out.Bytes(), &attempts); err != nil {
		return nil, fmt.Errorf("answer of the probing child: %w", err)
	}
	byName := map[string]attempt{}
	for _, a := range attempts {
		byName[a.Name] = a
	}
	return byName, nil
}

func attributes(flags uintptr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: flags}
	if flags&syscall.CLONE_NEWUSER != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// explain prefers the reason of the deadline to "signal: killed", and the errno to the
// path of the binary, which is not at fault.
func explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var path *os.PathError
	if errors.As(err, &path) && path.Op == "fork/exec" {
		return path.Err
	}
	return err
}

// attemptError returns what a child was refused under name, as step and errno.
func attemptError(attempts map[string]attempt, name string) (step string, err error) {
	a, ok := attempts[name]
	if !ok {
		return "probing child", errors.New("gave no answer")
	}
	if a.Step == "" {
		return "", nil
	}
	return a.Step, a.Errno
}

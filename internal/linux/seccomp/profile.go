// Package seccomp compiles the profiles of a sandbox's programs into classic
// BPF. It owns which system calls those programs may make, and nothing else:
// the daemon compiles, PID 1 installs what it is sent (package load).
//
// Every program is an allow-list. It first compares the architecture, then
// refuses x32, then looks the number up; what it does not name is refused. The
// filter is a fence for programs and assumes no_new_privs and the capability
// set caps.Programs; it does not replace either.
package seccomp

import (
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sys/unix"
)

// maxInstructions is BPF_MAXINSNS.
const maxInstructions = 4096

// Profile is the name of a set of rules, as it stands in coop.toml.
type Profile string

const (
	// Default is for coding agents: compilers, language runtimes, debuggers and
	// package managers run, namespaces and rarely used kernel parts are closed.
	Default Profile = "default"
	// Strict is Default without what ordinary builds do without (strict.go).
	Strict Profile = "strict"
	// Nesting is Default plus what a dockerd inside needs (nesting.go).
	Nesting Profile = "nesting"
	// Off compiles to no program; there is then nothing to install.
	Off Profile = "off"
)

// Options change a profile for one sandbox.
type Options struct {
	// RootEmulation answers changes of owner and identity, and the making of
	// device nodes, with a success that did not happen. It is for sandboxes
	// that map a single id, where the kernel would refuse them and package
	// managers would stop (emulate.go).
	RootEmulation bool

	// Without takes fences away, by the name of the system call, or "arch" and
	// "x32" for foreign ABIs: those calls are then allowed whatever their
	// arguments. It exists only for the escape tests, which repeat every attack
	// without its own fence to prove that the fence is what stops it. Nothing
	// a user can configure may reach it.
	Without []string
}

// Compile returns the filter for this machine's architecture as the bytes of an
// array of struct sock_filter, ready for load.Install. For Off it returns none.
func Compile(p Profile, o Options) ([]byte, error) {
	t, err := targetFor(runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	b, err := compile(p, o, t)
	return b.bytes(), err
}

func compile(p Profile, o Options, t target) (block, error) {
	if p == Off {
		return nil, nil
	}
	pol, err := policyFor(p, o, t)
	if err != nil {
		return nil, err
	}
	b := program(pol, o, t)
	if len(b) > maxInstructions {
		return nil, fmt.Errorf("compile profile %q: %d instructions, the kernel takes %d", p, len(b), maxInstructions)
	}
	return b, nil
}

// program puts the checks of the ABI in front of the search. The architecture
// comes first because a number means nothing without it.
//
// A foreign architecture (int 0x80, an i386 or ARM executable) is killed rather
// than refused: no 64-bit program makes such calls, and a 32-bit one cannot even
// exit when every call fails, so SIGSYS is the clearer end. x32 is answered
// ENOSYS, exactly as kernels built without it do.
func program(pol policy, o Options, t target) block {
	foreign, x32 := ret(unix.SECCOMP_RET_KILL_PROCESS), nosys()
	if slices.Contains(o.Without, "arch") {
		foreign = allow()
	}
	if slices.Contains(o.Without, "x32") {
		x32 = allow()
	}

	lookup := search(spans(pol, t))
	if t.x32 {
		lookup = branch(operand{}.has(x32Bit), x32, lookup)
	}
	native := append(load(offsetNumber), lookup...)
	return append(load(offsetArch), branch(operand{}.is(t.audit), native, foreign)...)
}

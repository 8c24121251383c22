package seccomp

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// x32Bit marks a call of the x32 ABI. It arrives with the architecture of
// x86-64, so a filter that compares numbers only would let it pass.
const x32Bit = 0x40000000

// target is the architecture a program is compiled for.
type target struct {
	goarch  string
	audit   uint32
	x32     bool
	numbers map[string]uint32
}

func targetFor(goarch string) (target, error) {
	switch goarch {
	case "amd64":
		return target{goarch, unix.AUDIT_ARCH_X86_64, true, parseNumbers(x8664Numbers)}, nil
	case "arm64":
		return target{goarch, unix.AUDIT_ARCH_AARCH64, false, parseNumbers(aarch64Numbers)}, nil
	}
	return target{}, fmt.Errorf("seccomp: no system call table for %s", goarch)
}

func parseNumbers(table string) map[string]uint32 {
	numbers := make(map[string]uint32, 400)
	for line := range strings.Lines(table) {
		number, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			continue // not reached: TestNumbers checks every row
		}
		numbers[name] = uint32(n)
	}
	return numbers
}

// exists says whether any supported architecture has the call: arm64 never had
// open, mknod or chown, only their *at forms.
func exists(name string) bool {
	for _, table := range []string{x8664Numbers, aarch64Numbers} {
		if strings.Contains(table, " "+name+"\n") {
			return true
		}
	}
	return false
}

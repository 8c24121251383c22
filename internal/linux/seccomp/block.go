package seccomp

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Offsets into struct seccomp_data (linux/seccomp.h).
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// maxJump is the reach of a conditional jump; BPF_JA has 32 bits.
const maxJump = 255

// block is a run of instructions that returns on every path and jumps only
// forwards and only within itself. Blocks are therefore free to be copied,
// compared and put next to each other, and a program made of them cannot run
// off its end.
type block []unix.SockFilter

func ret(action uint32) block {
	return block{{Code: unix.BPF_RET | unix.BPF_K, K: action}}
}

func errno(e unix.Errno) block {
	return ret(unix.SECCOMP_RET_ERRNO | uint32(e))
}

func allow() block { return ret(unix.SECCOMP_RET_ALLOW) }
func deny() block  { return errno(unix.EPERM) }

// operand is one 32-bit word of seccomp_data, optionally masked.
type operand struct {
	offset uint32
	mask   uint32
}

// arg is the low half of an argument: all the kernel looks at where the
// parameter is an int. Comparing 64 bits there lets a caller hide a forbidden
// value behind junk in the high half (CVE-2019-10063).
func arg(n uint32) operand {
	return operand{offset: offsetArgs + 8*n, mask: ^uint32(0)}
}

// argHigh is the other half, needed only for pointers.
func argHigh(n uint32) operand {
	return operand{offset: offsetArgs + 8*n + 4, mask: ^uint32(0)}
}

func (o operand) masked(mask uint32) operand {
	o.mask = mask
	return o
}

// is tests for equality.
func (o operand) is(value uint32) test { return test{o, unix.BPF_JEQ, value} }

// has tests whether any of the bits is set.
func (o operand) has(bits uint32) test { return test{o, unix.BPF_JSET, bits} }

// atLeast is an unsigned comparison.
func (o operand) atLeast(value uint32) test { return test{o, unix.BPF_JGE, value} }

type test struct {
	operand
	op    uint16
	value uint32
}

// when loads the operand, tests it and goes on in yes or in no.
func when(t test, yes, no block) block {
	b := load(t.offset)
	if t.mask != ^uint32(0) {
		b = append(b, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.mask})
	}
	return append(b, branch(t, yes, no)...)
}

// whenAny is when for several values of one operand.
func whenAny(o operand, values []uint32, yes, no block) block {
	for _, v := range values {
		no = when(o.is(v), yes, no)
	}
	return no
}

func load(offset uint32) block {
	return block{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}}
}

// branch tests what is already loaded. The way to no leads over yes, which may
// be longer than a conditional jump reaches; then an unconditional one helps.
func branch(t test, yes, no block) block {
	jump := unix.SockFilter{Code: unix.BPF_JMP | t.op | unix.BPF_K, K: t.value}
	var b block
	if len(yes) <= maxJump {
		jump.Jf = uint8(len(yes))
		b = append(b, jump)
	} else {
		jump.Jt = 1
		b = append(b, jump, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: uint32(len(yes))})
	}
	return append(append(b, yes...), no...)
}

// bytes is the array of struct sock_filter as the kernel reads it. Both
// supported architectures are little-endian.
func (b block) bytes() []byte {
	out := make([]byte, 0, 8*len(b))
	for _, in := range b {
		out = binary.LittleEndian.AppendUint16(out, in.Code)
		out = append(out, in.Jt, in.Jf)
		out = binary.LittleEndian.AppendUint32(out, in.K)
	}
	return out
}

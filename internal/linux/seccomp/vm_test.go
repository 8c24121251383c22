package seccomp

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// machine runs a compiled program in x/net/bpf's interpreter, which like the
// kernel refuses programs that could run off their end.
type machine struct {
	vm     *bpf.VM
	target target
}

func newMachine(tb testing.TB, goarch string, p Profile, o Options) machine {
	tb.Helper()
	t, err := targetFor(goarch)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := compile(p, o, t)
	if err != nil {
		tb.Fatal(err)
	}
	raw := make([]bpf.RawInstruction, len(b))
	for i, in := range b {
		raw[i] = bpf.RawInstruction{Op: in.Code, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	instructions, known := bpf.Disassemble(raw)
	if !known {
		tb.Fatal("program has instructions that x/net/bpf does not know")
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		tb.Fatal(err)
	}
	return machine{vm, t}
}

// run answers one call. The interpreter reads network byte order, so each word
// of seccomp_data is stored that way; the words keep their little-endian order.
func (m machine) run(tb testing.TB, audit, number uint32, args ...uint64) uint32 {
	tb.Helper()
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offsetNumber:], number)
	binary.BigEndian.PutUint32(data[offsetArch:], audit)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offsetArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offsetArgs+8*i+4:], uint32(a>>32))
	}
	action, err := m.vm.Run(data)
	if err != nil {
		tb.Fatal(err)
	}
	return uint32(action)
}

func (m machine) call(tb testing.TB, name string, args ...uint64) uint32 {
	tb.Helper()
	number, ok := m.target.numbers[name]
	if !ok {
		tb.Fatalf("%s has no %s", m.target.goarch, name)
	}
	return m.run(tb, m.target.audit, number, args...)
}

// The answers as the tables of the tests name them.
const (
	allowed     = unix.SECCOMP_RET_ALLOW
	killed      = unix.SECCOMP_RET_KILL_PROCESS
	eperm       = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	enosys      = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	noFamily    = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
	noProtocol  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)
	pretended   = unix.SECCOMP_RET_ERRNO
	highBits    = uint64(0xdeadbeef) << 32
	nonsenseBit = uint64(1) << 32
)

package seccomp

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/sys/unix"
)

func TestNumbers(t *testing.T) {
	for goarch, want := range map[string]map[string]int{
		"amd64": arch.X86_64.SyscallNames,
		"arm64": arch.AARCH64.SyscallNames,
	} {
		tgt, err := targetFor(goarch)
		if err != nil {
			t.Fatal(err)
		}
		if len(tgt.numbers) != len(want) {
			t.Errorf("%s: %d calls, want %d", goarch, len(tgt.numbers), len(want))
		}
		for name, number := range want {
			if got, ok := tgt.numbers[name]; !ok || got != uint32(number) {
				t.Errorf("%s %s: %d %v, want %d", goarch, name, got, ok, number)
			}
		}
	}
}

func TestForeignABI(t *testing.T) {
	amd64, arm64 := newMachine(t, "amd64", Default, Options{}), newMachine(t, "arm64", Default, Options{})
	const getpid386, getpidX32 = 20, x32Bit | 39
	for _, c := range []struct {
		what   string
		m      machine
		audit  uint32
		number uint32
		want   uint32
	}{
		{"i386 on amd64", amd64, unix.AUDIT_ARCH_I386, getpid386, killed},
		{"arm64 on amd64", amd64, unix.AUDIT_ARCH_AARCH64, 172, killed},
		{"x32 on amd64", amd64, unix.AUDIT_ARCH_X86_64, getpidX32, enosys},
		{"x32's own number on amd64", amd64, unix.AUDIT_ARCH_X86_64, x32Bit | 521, enosys},
		{"number -1 on amd64", amd64, unix.AUDIT_ARCH_X86_64, 0xffffffff, enosys},
		{"arm on arm64", arm64, unix.AUDIT_ARCH_ARM, getpid386, killed},
		{"amd64 on arm64", arm64, unix.AUDIT_ARCH_X86_64, 39, killed},
		{"high number on arm64", arm64, unix.AUDIT_ARCH_AARCH64, x32Bit | 172, enosys},
		{"without arch", newMachine(t, "amd64", Default, Options{Without: []string{"arch"}}), unix.AUDIT_ARCH_I386, getpid386, allowed},
		{"without x32", newMachine(t, "amd64", Default, Options{Without: []string{"x32"}}), unix.AUDIT_ARCH_X86_64, getpidX32, allowed},
	} {
		if got := c.m.run(t, c.audit, c.number); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.what, got, c.want)
		}
	}
}

// TestEveryNumber compares the search with the policy it was made from, and
// numbers that nobody has given yet with ENOSYS.
func TestEveryNumber(t *testing.T) {
	eachTarget(t, func(t *testing.T, goarch string) {
		for _, p := range []Profile{Default, Strict, Nesting} {
			m := newMachine(t, goarch, p, Options{})
			pol, err := policyFor(p, Options{}, m.target)
			if err != nil {
				t.Fatal(err)
			}
			want := make(map[uint32]uint32)
			for name, number := range m.target.numbers {
				want[number] = eperm
				if rule, ok := pol[name]; ok && len(rule) > 1 {
					delete(want, number) // depends on arguments: TestArguments
				} else if ok {
					want[number] = rule[0].K
				}
			}
			known := func(n uint32) bool { return slices.Contains(values(m.target.numbers), n) }
			for number := range uint32(1024) {
				expected, fixed := want[number]
				if !fixed && known(number) {
					continue
				}
				if !fixed {
					expected = enosys
				}
				if got := m.run(t, m.target.audit, number); got != expected {
					t.Errorf("%s %d: %#x, want %#x", p, number, got, expected)
				}
			}
		}
	})
}

func values(numbers map[string]uint32) []uint32 {
	out := make([]uint32, 0, len(numbers))
	for _, n := range numbers {
		out = append(out, n)
	}
	return out
}

// TestLongJumps makes a block longer than a conditional jump reaches.
func TestLongJumps(t *testing.T) {
	long := allow()
	for range 300 {
		long = when(arg(5).is(1), deny(), long)
	}
	b := when(arg(0).is(7), long, nosys())
	if at := b[1]; at.Jt != 1 || b[2].Code != unix.BPF_JMP|unix.BPF_JA {
		t.Fatalf("no long jump after %+v", at)
	}
	if target := b[3+b[2].K]; target.K != enosys {
		t.Errorf("long jump leads to %+v", target)
	}
}

// TestSize keeps an eye on what every filtered call may cost to look up.
func TestSize(t *testing.T) {
	for _, p := range []Profile{Default, Strict, Nesting} {
		prog, err := Compile(p, Options{RootEmulation: true})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(prog) / 8; n > 1000 {
			t.Errorf("%s has %d instructions", p, n)
		} else {
			t.Logf("%s: %d instructions", p, n)
		}
	}
}

// FuzzProgram: whatever a caller passes, the program ends, and in one of the
// answers there are.
func FuzzProgram(f *testing.F) {
	f.Add(uint8(0), make([]byte, 64))
	f.Add(uint8(5), slices.Repeat([]byte{0xff}, 64))
	machines := []machine{
		newMachine(f, "amd64", Default, Options{}),
		newMachine(f, "amd64", Strict, Options{RootEmulation: true}),
		newMachine(f, "amd64", Nesting, Options{}),
		newMachine(f, "arm64", Default, Options{RootEmulation: true}),
		newMachine(f, "arm64", Strict, Options{}),
		newMachine(f, "arm64", Nesting, Options{}),
	}
	answers := []uint32{allowed, killed, eperm, enosys, noFamily, noProtocol, pretended}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		if len(data) != 64 {
			t.Skip()
		}
		m := machines[int(which)%len(machines)]
		if which&0x80 != 0 {
			binary.BigEndian.PutUint32(data[offsetArch:], m.target.audit)
			binary.BigEndian.PutUint16(data[offsetNumber:], 0)
		}
		action, err := m.vm.Run(data)
		if err != nil || !slices.Contains(answers, uint32(action)) {
			t.Errorf("action %#x, %v", action, err)
		}
	})
}

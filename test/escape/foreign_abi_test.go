package escape

import (
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func foreignABI() attack {
	return attack{
		Class: kernelClass, Name: "32-bit-calls",
		Attack: "make 32-bit system calls: int 0x80 from a 64-bit program, and a 32-bit program",
		Proves: "a number is looked up only where it means what the filter thinks",
		Run: func() error {
			var a attempts
			a.try("int 0x80", runCode(elf64(int80)))
			a.try("i386 program", runCode(elf32(int80)))
			return a.result()
		},
		Denied: errnos(unix.ENOSYS),
		Fence:  []string{"arch"},
	}
}

// int80 calls getpid and exit(42) by the i386 table, in code that means the same
// to a processor in 32-bit and in 64-bit mode.
const int80 = "\xb8\x14\x00\x00\x00" + // mov eax, 20
	"\xcd\x80" + // int 0x80
	"\xbb\x2a\x00\x00\x00" + // mov ebx, 42
	"\xb8\x01\x00\x00\x00" + // mov eax, 1
	"\xcd\x80" // int 0x80

const codeAddress = 0x10000

// runCode executes a program that must end with status 42. The filter kills the
// one that makes a foreign call; that is reported as a call that does not exist.
func runCode(program []byte) error {
	const file = "/tmp/code"
	_ = os.Remove(file) // of the variant before
	if err := os.WriteFile(file, program, 0o755); err != nil {
		return err
	}
	var exit *exec.ExitError
	err := exec.Command(file).Run()
	if !errors.As(err, &exit) {
		return err
	}
	ws := exit.Sys().(syscall.WaitStatus)
	if ws.Signaled() && ws.Signal() == unix.SIGSYS {
		return refused(unix.ENOSYS, "killed by the filter")
	}
	if ws.ExitStatus() != 42 {
		return exit
	}
	return nil
}

// elf64 and elf32 are the smallest programs: one header, one segment, the code.
func elf64(code string) []byte {
	const headers = 64 + 56
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	le := binary.LittleEndian
	b = le.AppendUint16(b, 2)  // executable
	b = le.AppendUint16(b, 62) // x86-64
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, codeAddress+headers) // entry
	b = le.AppendUint64(b, 64)                  // program headers
	b = le.AppendUint64(b, 0)
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{64, 56, 1, 0, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	b = le.AppendUint32(b, 1) // load
	b = le.AppendUint32(b, 5) // read, execute
	size := uint64(headers + len(code))
	for _, v := range []uint64{0, codeAddress, codeAddress, size, size, 0x1000} {
		b = le.AppendUint64(b, v)
	}
	return append(b, code...)
}

func elf32(code string) []byte {
	const headers = 52 + 32
	b := append([]byte("\x7fELF\x01\x01\x01"), make([]byte, 9)...)
	le := binary.LittleEndian
	b = le.AppendUint16(b, 2) // executable
	b = le.AppendUint16(b, 3) // i386
	for _, v := range []uint32{1, codeAddress + headers, 52, 0, 0} {
		b = le.AppendUint32(b, v)
	}
	for _, v := range []uint16{52, 32, 1, 0, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	size := uint32(headers + len(code))
	for _, v := range []uint32{1, 0, codeAddress, codeAddress, size, size, 5, 0x1000} {
		b = le.AppendUint32(b, v)
	}
	return append(b, code...)
}

//go:build amd64 || arm64

package stub

import (
	"bytes"
	"runtime"
	"unsafe"
)

// Supported says whether there is a stub for this machine. Without one every
// program is started by PID 1's own fork.
const Supported = true

// code is the program; it is read, never called.
//
//lint:ignore U1000 address refers to it, in assembly
func code()

// address is where code lies.
func address() uintptr

// maxCode is more than code has.
const maxCode = 512

// text is the machine code, up to the undefined instructions that mark its end.
func text() []byte {
	undefined := []byte{0x0f, 0x0b} // UNDEF as the assembler writes it: ud2
	if runtime.GOARCH == "arm64" {
		undefined = []byte{0, 0, 0, 0} // udf #0
	}
	at := address()
	b := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), maxCode)
	end := bytes.Index(b, bytes.Repeat(undefined, 4))
	return bytes.Clone(b[:end])
}

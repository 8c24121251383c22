package stub

import (
	"encoding/binary"
	"runtime"
)

// The file is one page, mapped twice: headers and code to be executed, and the
// opening calls, with room for a message behind them, to be written to.
const (
	codeAt   = 0x400000
	filePage = 4 << 10
	dataAt   = origin & (filePage - 1) // offset in the file and in its page
	align    = 64 << 10                // the largest page a kernel may have

	headerSize  = 64 // of struct Elf64_Ehdr
	segmentSize = 56 // of struct Elf64_Phdr
	segments    = 3
	head        = headerSize + segments*segmentSize
)

// Name is what a waiting stub is called in a list of processes.
const Name = "coop-spare"

// Image is the program as an ELF file; see elf(5).
func Image() []byte {
	code := append(text(), Name+"\x00"...)
	name := codeAt + head + uint64(len(code)-len(Name)-1)
	data := encode(first(name), 0)
	const load, stack = 1, 0x6474e551
	const x, w, r = 1, 2, 4
	b := header()
	b = segment(b, load, r|x, 0, codeAt, uint64(head+len(code)), uint64(head+len(code)))
	b = segment(b, load, r|w, dataAt, origin, uint64(len(data)), opening*callSize+maxMessage)
	b = segment(b, stack, r|w, 0, 0, 0, 0)
	b = append(b, code...)
	b = append(b, make([]byte, dataAt-len(b))...)
	return append(b, data...)
}

func header() []byte {
	machine := uint16(62) // EM_X86_64
	if runtime.GOARCH == "arm64" {
		machine = 183 // EM_AARCH64
	}
	le := binary.LittleEndian
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...) // 64 bits, little endian
	b = le.AppendUint16(b, 2)                                      // ET_EXEC
	b = le.AppendUint16(b, machine)
	b = le.AppendUint32(b, 1)
	b = le.AppendUint64(b, codeAt+head) // entry
	b = le.AppendUint64(b, headerSize)  // where the segments are listed
	b = le.AppendUint64(b, 0)           // no sections
	b = le.AppendUint32(b, 0)
	for _, v := range []uint16{headerSize, segmentSize, segments, 0, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	return b
}

func segment(b []byte, kind, flags uint32, offset, address, inFile, inMemory uint64) []byte {
	b = binary.LittleEndian.AppendUint32(b, kind)
	b = binary.LittleEndian.AppendUint32(b, flags)
	for _, v := range []uint64{offset, address, address, inFile, inMemory, align} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

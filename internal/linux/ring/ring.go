// Package ring carries a stream of bytes from PID 1 of a sandbox to the daemon
// through memory that both hold, so that it outlives either reader. PID 1 is the
// one writer, the present daemon the one reader.
//
//	offset      word      written by  meaning
//	0           head      writer      bytes ever written
//	64          tail      reader      bytes ever acknowledged
//	128         waiting   both        the reader sleeps until there is data
//	192         wanted    both        the writer wants to hear of the next acknowledgement
//	4096        data      writer      byte n of the stream is at n modulo Size
//
// Offsets are absolute and never begin again. A side that is about to sleep sets
// its word and looks once more; the other side moves its offset first and looks
// at the word after: so no wake-up is lost, and none is sent that nobody needs.
// Each side sleeps on an eventfd.
//
// Invariant: bytes between tail and head are never overwritten. The reader
// believes nothing the memory says: it keeps its own copy of the tail and checks
// every head against it. The memory cannot shrink (sealed), so that touching it
// cannot raise SIGBUS.
package ring

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Size is how many bytes may wait to be acknowledged: a megabyte that a program
// may go on after its daemon has died, and what that daemon may have read and
// not stored at that moment.
const Size = 1<<20 + 256<<10

// headerSize is where the data begins: a page, or part of one where pages are
// larger.
const headerSize = 4096

// FDs is how many descriptors a ring consists of: the memory, the eventfd that
// tells the reader of data, the eventfd that tells the writer of space.
const FDs = 3

var (
	// ErrCorrupt says that the shared words contradict each other.
	ErrCorrupt = errors.New("the ring's header is corrupt")
	// ErrFull says that the reader has to acknowledge something first.
	ErrFull = errors.New("the ring is full")
	// ErrGone says that bytes were asked for that were acknowledged before.
	ErrGone = errors.New("the bytes were acknowledged and are gone")
)

// header gives typed access to the first page.
type header struct{ page []byte }

func (h header) word64(at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&h.page[at]))
}

func (h header) word32(at int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&h.page[at]))
}

func (h header) head() *atomic.Uint64    { return h.word64(0) }
func (h header) tail() *atomic.Uint64    { return h.word64(64) }
func (h header) waiting() *atomic.Uint32 { return h.word32(128) }
func (h header) wanted() *atomic.Uint32  { return h.word32(192) }

// kick wakes whoever sleeps on an eventfd. It cannot fail in a way that matters:
// a counter at its limit is readable already.
func kick(eventfd int) {
	one := [8]byte{1}
	if bigEndian() {
		one = [8]byte{7: 1}
	}
	for {
		if _, err := unix.Write(eventfd, one[:]); err != unix.EINTR {
			return
		}
	}
}

func bigEndian() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 0
}

package ring

import (
	"os"

	"golang.org/x/sys/unix"
)

// seals keep the memory at its size for ever: the one that touches it, and the
// one that punches holes into it, cannot harm the other.
const seals = unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL

// Writer is PID 1's side. One goroutine may use it.
type Writer struct {
	mem   []byte
	head  uint64 // our own copies: the words are for the other side
	tail  uint64
	dirty uint64 // bytes written since the pages were last given back
	fds   [FDs]int
}

// New makes a ring. Its pages come into being as they are written to.
func New(name string) (*Writer, error) {
	w := &Writer{fds: [FDs]int{-1, -1, -1}}
	if err := w.make(name); err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

func (w *Writer) make(name string) error {
	var err error
	if w.fds[0], err = unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err != nil {
		return os.NewSyscallError("memfd_create", err)
	}
	if err := unix.Ftruncate(w.fds[0], headerSize+Size); err != nil {
		return os.NewSyscallError("ftruncate", err)
	}
	if _, err := unix.FcntlInt(uintptr(w.fds[0]), unix.F_ADD_SEALS, seals); err != nil {
		return os.NewSyscallError("seal", err)
	}
	if w.mem, err = unix.Mmap(w.fds[0], 0, headerSize+Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	for i := 1; i < FDs; i++ {
		if w.fds[i], err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
			return os.NewSyscallError("eventfd", err)
		}
	}
	return nil
}

// Descriptors are the memory, the data event and the space event, in the order
// Open wants them. They belong to the ring.
func (w *Writer) Descriptors() []int { return w.fds[:] }

// SpaceEvent is readable after an acknowledgement that Want asked for.
func (w *Writer) SpaceEvent() int { return w.fds[2] }

// Poke makes the space event fire as an acknowledgement would. Unlike all other
// methods any goroutine may call it.
func (w *Writer) Poke() { kick(w.fds[2]) }

// Head is how many bytes were ever written.
func (w *Writer) Head() uint64 { return w.head }

func (w *Writer) header() header { return header{w.mem[:headerSize]} }

// acknowledged takes over the reader's word if it makes sense: it only grows,
// and not past what was written. A predecessor of the present daemon may still
// write an old one.
func (w *Writer) acknowledged() uint64 {
	if t := w.header().tail().Load(); t > w.tail && t <= w.head {
		w.tail = t
	}
	return w.tail
}

// Fill reads once from a descriptor into the ring. Nobody is told before Tell.
// It gives read's own error, and ErrFull when there is no room.
func (w *Writer) Fill(fd int) (int, error) {
	room := Size - (w.head - w.acknowledged())
	if room == 0 {
		return 0, ErrFull
	}
	at := w.head % Size
	n, err := unix.Read(fd, w.mem[headerSize+at:headerSize+min(at+room, Size)])
	if n <= 0 {
		return 0, err
	}
	w.head += uint64(n)
	w.dirty += uint64(n)
	return n, nil
}

// Tell lets the reader see what was filled in, and wakes it if it waits. Doing so
// once for many small reads saves both sides most of their wake-ups.
func (w *Writer) Tell() {
	h := w.header()
	if h.head().Load() == w.head {
		return
	}
	h.head().Store(w.head)
	if h.waiting().Load() != 0 && h.waiting().Swap(0) != 0 {
		kick(w.fds[1])
	}
}

// Want asks to be told of the next acknowledgement and reports whether there is
// room already.
func (w *Writer) Want() bool {
	w.header().wanted().Store(1)
	return w.head-w.acknowledged() < Size
}

// wasteful is how much memory an idle ring may hold on to.
const wasteful = 64 << 10

// Rest is called when there is nothing to write. It gives the pages back if all
// was acknowledged; otherwise it asks to be told when that is so.
func (w *Writer) Rest() {
	if w.dirty < wasteful {
		return
	}
	if w.acknowledged() != w.head {
		w.header().wanted().Store(1)
		if w.acknowledged() != w.head {
			return
		}
	}
	// Reading a hole gives zeroes, writing fills it: the reader notices nothing.
	err := unix.Fallocate(w.fds[0], unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, headerSize, Size)
	if err == nil {
		w.dirty = 0
	}
}

// Close lets go of the ring; a reader keeps what it has.
func (w *Writer) Close() {
	if w.mem != nil {
		_ = unix.Munmap(w.mem) // it was mapped
		w.mem = nil
	}
	for i, fd := range w.fds {
		if fd >= 0 {
			unix.Close(fd)
			w.fds[i] = -1
		}
	}
}

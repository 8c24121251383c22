package ring

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Reader is the daemon's side. Any number of goroutines may use it, but only one
// at a time waits for data.
type Reader struct {
	mem   *os.File
	data  *os.File
	space *os.File

	mu    sync.Mutex
	page  []byte // nil when closed
	acked uint64 // ours alone: the shared word is only written
	head  uint64 // the largest seen
}

// Open takes over the descriptors of a ring that came from PID 1. Nothing about
// them is believed: not what they are, nor what they hold.
func Open(fds []int) (*Reader, error) {
	r := &Reader{}
	if len(fds) != FDs {
		closeAll(fds)
		return nil, fmt.Errorf("a ring of %d descriptors", len(fds))
	}
	if err := checkMemory(fds[0]); err != nil {
		closeAll(fds)
		return nil, err
	}
	for _, fd := range fds[1:] {
		if err := unix.SetNonblock(fd, true); err != nil {
			closeAll(fds)
			return nil, os.NewSyscallError("fcntl", err)
		}
	}
	r.mem, r.data, r.space = os.NewFile(uintptr(fds[0]), "ring"), os.NewFile(uintptr(fds[1]), "data"), os.NewFile(uintptr(fds[2]), "space")
	page, err := unix.Mmap(fds[0], 0, headerSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		r.Close()
		return nil, os.NewSyscallError("mmap", err)
	}
	r.page = page
	if err := r.begin(); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

// checkMemory makes sure that a descriptor is ordinary memory of the right size
// that nobody can cut short while we touch it.
func checkMemory(fd int) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return os.NewSyscallError("fstatfs", err)
	}
	have, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return os.NewSyscallError("seals", err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if int64(fs.Type) != unix.TMPFS_MAGIC || have&unix.F_SEAL_SHRINK == 0 || st.Size != headerSize+Size {
		return errors.New("not the memory of a ring")
	}
	return nil
}

// begin takes the offsets as they are now and frees a writer whose wake-up an
// earlier reader took with it.
func (r *Reader) begin() error {
	h := header{r.page}
	r.acked = h.tail().Load()
	r.head = r.acked
	if _, err := r.look(); err != nil {
		return err
	}
	kickFile(r.space)
	return nil
}

// look reads the head and checks it. It is called with the lock held.
func (r *Reader) look() (uint64, error) {
	if r.page == nil {
		return 0, os.ErrClosed
	}
	head := header{r.page}.head().Load()
	if head < r.head || head-r.acked > Size {
		return 0, ErrCorrupt
	}
	r.head = head
	return head, nil
}

// Kept is what can be read: the first byte that was not acknowledged, and the
// one after the last.
func (r *Reader) Kept() (from, to uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to, err = r.look()
	return r.acked, to, err
}

// ReadNow copies what there is from offset off on; io.EOF means nothing yet.
func (r *Reader) ReadNow(p []byte, off uint64) (int, error) {
	r.mu.Lock()
	head, err := r.look()
	acked := r.acked
	r.mu.Unlock()
	switch {
	case err != nil:
		return 0, err
	case off < acked:
		return 0, ErrGone
	case off > head:
		return 0, fmt.Errorf("%w: %d bytes asked for, %d written", ErrCorrupt, off, head)
	case off == head:
		return 0, io.EOF
	}
	at := off % Size
	n := min(uint64(len(p)), head-off, Size-at)
	return r.mem.ReadAt(p[:n], int64(headerSize+at))
}

// Wait returns when there may be more than off bytes, or after Kick. It may
// return early: the caller looks again.
func (r *Reader) Wait(off uint64) error {
	r.mu.Lock()
	if r.page == nil {
		r.mu.Unlock()
		return os.ErrClosed
	}
	header{r.page}.waiting().Store(1)
	head, err := r.look()
	r.mu.Unlock()
	if err != nil || head > off {
		return err
	}
	var count [8]byte
	_, err = r.data.Read(count[:])
	return err
}

// Kick wakes whoever waits.
func (r *Reader) Kick() { kickFile(r.data) }

// Ack lets everything before off be overwritten. What was not written yet cannot
// be acknowledged, and what was is not taken back.
func (r *Reader) Ack(off uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.page == nil || off <= r.acked || off > r.head {
		return
	}
	r.acked = off
	h := header{r.page}
	h.tail().Store(off)
	if h.wanted().Load() != 0 && h.wanted().Swap(0) != 0 {
		kickFile(r.space)
	}
}

// kickFile is kick for a file that somebody else may close.
func kickFile(f *os.File) {
	if rc, err := f.SyscallConn(); err == nil {
		_ = rc.Control(func(fd uintptr) { kick(int(fd)) }) // a closed one has nobody to wake
	}
}

// Close lets go of the ring and wakes a reader that waits.
func (r *Reader) Close() {
	r.mu.Lock()
	if r.page != nil {
		_ = unix.Munmap(r.page) // it was mapped
		r.page = nil
	}
	r.mu.Unlock()
	for _, f := range []*os.File{r.mem, r.data, r.space} {
		_ = f.Close() // closing twice is closing
	}
}

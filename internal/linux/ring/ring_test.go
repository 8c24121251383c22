package ring

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// pair is a ring with both its sides, the reader on duplicates as a daemon has.
func pair(t testing.TB) (*Writer, *Reader) {
	t.Helper()
	w, err := New("test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	r := open(t, w)
	return w, r
}

func open(t testing.TB, w *Writer) *Reader {
	t.Helper()
	r, err := Open(dup(t, w.Descriptors()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func dup(t testing.TB, fds []int) []int {
	t.Helper()
	var out []int
	for _, fd := range fds {
		d, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

// source is a pipe whose read end Fill reads from.
type source struct{ in, out *os.File }

func newSource(t testing.TB) source {
	t.Helper()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close(); in.Close() })
	return source{in, out}
}

// fill writes bytes into the ring through the pipe.
func (s source) fill(t testing.TB, w *Writer, b []byte) {
	t.Helper()
	for len(b) > 0 {
		n := min(len(b), 4096)
		if _, err := s.in.Write(b[:n]); err != nil {
			t.Fatal(err)
		}
		for left := n; left > 0; {
			got, err := w.Fill(int(s.out.Fd()))
			w.Tell()
			if err != nil {
				t.Fatal(err)
			}
			left -= got
		}
		b = b[n:]
	}
}

// counted is a stream in which every 8 bytes tell their own offset.
func counted(off, n uint64) []byte {
	b := make([]byte, n)
	for i := range b {
		at := off + uint64(i)
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], at&^7)
		b[i] = word[at&7]
	}
	return b
}

func readAll(t testing.TB, r *Reader, from, to uint64) []byte {
	t.Helper()
	out := make([]byte, 0, to-from)
	buf := make([]byte, 70000)
	for off := from; off < to; {
		n, err := r.ReadNow(buf, off)
		if err != nil {
			t.Fatalf("at %d: %v", off, err)
		}
		out = append(out, buf[:n]...)
		off += uint64(n)
	}
	return out
}

func TestRoundTripWithWrapAround(t *testing.T) {
	w, r := pair(t)
	s := newSource(t)
	off := uint64(0)
	for _, n := range []uint64{1, 4096, Size - 5000, 5000, Size, 3, Size - 1, 100000} {
		s.fill(t, w, counted(off, n))
		if got := readAll(t, r, off, off+n); !bytes.Equal(got, counted(off, n)) {
			t.Fatalf("%d bytes at %d came out changed", n, off)
		}
		off += n
		r.Ack(off)
	}
	if w.Head() != off {
		t.Errorf("head %d, want %d", w.Head(), off)
	}
}

func TestFullThenSpace(t *testing.T) {
	w, r := pair(t)
	s := newSource(t)
	s.fill(t, w, counted(0, Size))
	if _, err := s.in.Write([]byte("more")); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Fill(int(s.out.Fd())); err != ErrFull {
		t.Fatalf("a full ring took more: %v", err)
	}
	if w.Want() {
		t.Fatal("room in a full ring")
	}
	drainEvent(t, w.SpaceEvent())
	if got := readAll(t, r, 0, Size); !bytes.Equal(got, counted(0, Size)) {
		t.Fatal("changed")
	}
	r.Ack(10)
	if !readable(w.SpaceEvent()) {
		t.Error("an acknowledgement that was wanted told nobody")
	}
	if n, err := w.Fill(int(s.out.Fd())); err != nil || n != 4 {
		t.Errorf("%d, %v", n, err)
	}
	drainEvent(t, w.SpaceEvent())
	r.Ack(20)
	if readable(w.SpaceEvent()) {
		t.Error("an acknowledgement nobody wanted woke the writer")
	}
}

func drainEvent(t testing.TB, fd int) {
	t.Helper()
	var b [8]byte
	if _, err := unix.Read(fd, b[:]); err != nil && err != unix.EAGAIN {
		t.Fatal(err)
	}
}

func readable(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, _ := unix.Poll(p, 0)
	return n == 1
}

// TestNextReader: a reader that dies takes nothing along; the next one gets what
// was not acknowledged and wakes a writer whose wake-up was lost.
func TestNextReader(t *testing.T) {
	w, r := pair(t)
	s := newSource(t)
	s.fill(t, w, counted(0, Size))
	readAll(t, r, 0, 5000)
	r.Ack(3000)
	w.header().wanted().Store(0) // as if the dead reader had taken the wish and not told
	r.Close()
	drainEvent(t, w.SpaceEvent())
	next := open(t, w)
	if !readable(w.SpaceEvent()) {
		t.Error("the writer was not woken")
	}
	from, to, err := next.Kept()
	if err != nil || from != 3000 || to != Size {
		t.Fatalf("kept %d to %d, %v", from, to, err)
	}
	if got := readAll(t, next, from, to); !bytes.Equal(got, counted(3000, Size-3000)) {
		t.Error("changed")
	}
	if _, err := next.ReadNow(make([]byte, 1), 2999); err != ErrGone {
		t.Errorf("an acknowledged byte: %v", err)
	}
}

func TestWaitAndKick(t *testing.T) {
	w, r := pair(t)
	s := newSource(t)
	var wg sync.WaitGroup
	got := make(chan error)
	wg.Go(func() { got <- r.Wait(0) })
	s.fill(t, w, []byte("x"))
	if err := <-got; err != nil {
		t.Error(err)
	}
	wg.Go(func() { got <- r.Wait(1) })
	r.Kick()
	if err := <-got; err != nil {
		t.Error(err)
	}
	wg.Go(func() {
		for {
			if err := r.Wait(1); err != nil {
				got <- err
				return
			}
		}
	})
	r.Close()
	if err := <-got; !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	wg.Wait()
	if _, err := r.ReadNow(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
	r.Ack(1)
	r.Close()
}

// TestHostileWords: whatever stands in the header, the reader neither reads what
// is not there nor crashes.
func TestHostileWords(t *testing.T) {
	for name, head := range map[string]uint64{
		"backwards":        50,
		"past the ring":    100 + Size + 1,
		"past everything":  math.MaxUint64,
		"around the world": math.MaxUint64 - Size,
	} {
		t.Run(name, func(t *testing.T) {
			w, r := pair(t)
			s := newSource(t)
			s.fill(t, w, counted(0, 200))
			readAll(t, r, 0, 100)
			r.Ack(100)
			w.header().head().Store(head)
			if _, err := r.ReadNow(make([]byte, 10), 100); err != ErrCorrupt {
				t.Errorf("read: %v", err)
			}
			if err := r.Wait(100); err != ErrCorrupt {
				t.Errorf("wait: %v", err)
			}
		})
	}
	t.Run("tail before head by more than the ring", func(t *testing.T) {
		w, _ := pair(t)
		w.header().head().Store(10 * Size)
		if _, err := Open(dup(t, w.Descriptors())); err != ErrCorrupt {
			t.Error(err)
		}
	})
	t.Run("tail after head", func(t *testing.T) {
		w, _ := pair(t)
		w.header().tail().Store(7)
		if _, err := Open(dup(t, w.Descriptors())); err != ErrCorrupt {
			t.Error(err)
		}
	})
	t.Run("tail moved by others", func(t *testing.T) {
		w, r := pair(t)
		s := newSource(t)
		s.fill(t, w, counted(0, 200))
		w.header().tail().Store(150)
		if got := readAll(t, r, 0, 200); !bytes.Equal(got, counted(0, 200)) {
			t.Error("the reader believed somebody else's tail")
		}
	})
	t.Run("writer and a wrong tail", func(t *testing.T) {
		w, _ := pair(t)
		s := newSource(t)
		s.fill(t, w, counted(0, 200))
		for _, tail := range []uint64{201, math.MaxUint64, 100, 50} {
			w.header().tail().Store(tail)
			if got := w.acknowledged(); got != 0 && got != 100 {
				t.Errorf("tail %d was taken as %d", tail, got)
			}
		}
	})
}

func TestHostileDescriptors(t *testing.T) {
	mem := func(size int64, seals int) int {
		fd, err := unix.MemfdCreate("x", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Ftruncate(fd, size); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(headerSize + Size); err != nil {
		t.Fatal(err)
	}
	event := func() int {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	for name, fds := range map[string][]int{
		"none":             {},
		"two":              {mem(headerSize+Size, seals), event()},
		"shrinkable":       {mem(headerSize+Size, unix.F_SEAL_GROW), event(), event()},
		"too small":        {mem(headerSize, seals), event(), event()},
		"too large":        {mem(headerSize+2*Size, seals), event(), event()},
		"an eventfd":       {event(), event(), event()},
		"a file on disk":   {dup(t, []int{int(file.Fd())})[0], event(), event()},
		"not to be mapped": {mem(headerSize+Size, seals|unix.F_SEAL_WRITE), event(), event()},
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := Open(fds); err == nil {
				r.Close()
				t.Error("accepted")
			}
			for _, fd := range fds {
				if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil {
					t.Errorf("descriptor %d is left open", fd)
				}
			}
		})
	}
}

func TestAckIsClamped(t *testing.T) {
	w, r := pair(t)
	s := newSource(t)
	s.fill(t, w, counted(0, 100))
	readAll(t, r, 0, 100)
	for _, c := range []struct{ ack, want uint64 }{{0, 0}, {101, 0}, {math.MaxUint64, 0}, {60, 60}, {50, 60}, {100, 100}} {
		r.Ack(c.ack)
		if from, _, _ := r.Kept(); from != c.want {
			t.Errorf("after ack of %d the first byte kept is %d, want %d", c.ack, from, c.want)
		}
	}
}

// TestRestGivesMemoryBack: an idle ring that was written to costs little.
func TestRestGivesMemoryBack(t *testing.T) {
	w, r := pair(t)
	s := newSource(t)
	s.fill(t, w, counted(0, Size))
	if got := blocks(t, w); got < Size {
		t.Fatalf("a full ring has %d bytes", got)
	}
	w.Rest() // not acknowledged: nothing may go, but it wants to know
	if got := readAll(t, r, 0, Size); !bytes.Equal(got, counted(0, Size)) {
		t.Fatal("rest destroyed what was not acknowledged")
	}
	drainEvent(t, w.SpaceEvent())
	r.Ack(Size)
	if !readable(w.SpaceEvent()) {
		t.Error("nobody told the writer that it may rest")
	}
	w.Rest()
	if got := blocks(t, w); got > 16<<10 {
		t.Errorf("an idle ring has %d bytes", got)
	}
	s.fill(t, w, counted(Size, 1000))
	if got := readAll(t, r, Size, Size+1000); !bytes.Equal(got, counted(Size, 1000)) {
		t.Error("changed after a rest")
	}
}

func blocks(t testing.TB, w *Writer) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(w.fds[0], &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks * 512
}

// TestConcurrent: a writer and readers that come and go at random moments; every
// byte arrives once.
func TestConcurrent(t *testing.T) {
	w, r := pair(t)
	s := newSource(t)
	const total = 24 << 20
	var wg sync.WaitGroup
	wg.Go(func() {
		for off := uint64(0); off < total; {
			n := uint64(1 + rand.IntN(30000))
			n = min(n, total-off)
			if _, err := s.in.Write(counted(off, n)); err != nil {
				t.Error(err)
				return
			}
			off += n
		}
	})
	wg.Go(func() {
		for w.Head() < total {
			_, err := w.Fill(int(s.out.Fd()))
			if rand.IntN(3) == 0 || err == ErrFull {
				w.Tell()
			}
			if err == ErrFull && !w.Want() {
				p := []unix.PollFd{{Fd: int32(w.SpaceEvent()), Events: unix.POLLIN}}
				_, _ = unix.Poll(p, -1)
				drainEvent(t, w.SpaceEvent())
				continue
			}
			if err != nil && err != ErrFull && err != unix.EINTR {
				t.Error(err)
				return
			}
			if rand.IntN(50) == 0 {
				w.Rest()
			}
		}
		w.Tell()
	})
	off := uint64(0)
	buf := make([]byte, 100000)
	for off < total {
		if rand.IntN(300) == 0 {
			r.Close()
			r = open(t, w)
		}
		n, err := r.ReadNow(buf[:1+rand.IntN(len(buf))], off)
		if errors.Is(err, io.EOF) {
			err = r.Wait(off)
			n = 0
		}
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(buf[:n], counted(off, uint64(n))) {
			t.Fatalf("bytes at %d are wrong", off)
		}
		off += uint64(n)
		if rand.IntN(3) > 0 {
			r.Ack(off)
		}
	}
	wg.Wait()
}

// FuzzReader: any header, any request.
func FuzzReader(f *testing.F) {
	f.Add(uint64(0), uint64(0), uint64(0), uint16(10))
	f.Add(uint64(Size), uint64(0), uint64(17), uint16(10))
	f.Add(uint64(math.MaxUint64), uint64(math.MaxUint64-5), uint64(math.MaxUint64-2), uint16(9))
	f.Fuzz(func(t *testing.T, head, tail, off uint64, size uint16) {
		w, err := New("fuzz")
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		w.header().head().Store(head)
		w.header().tail().Store(tail)
		r, err := Open(dup(t, w.Descriptors()))
		if err != nil {
			return
		}
		defer r.Close()
		n, err := r.ReadNow(make([]byte, size), off)
		if n < 0 || n > int(size) || (err == nil && uint64(n) > head-off) {
			t.Errorf("%d bytes, %v", n, err)
		}
		r.Ack(off)
	})
}

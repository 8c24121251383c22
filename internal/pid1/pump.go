package pid1

import (
	"sync"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/ring"
)

// pump moves the output of all terminals into their rings, on one thread: a
// thread for each would cost memory, the fenced thread has other things to do.
//
// Events are edge-triggered. A master whose program has closed it reports a
// hang-up as long as nobody opens it again, and a full ring must not be looked
// at again before there is space: with level-triggered events both would spin.
type pump struct {
	epoll int
	mu    sync.Mutex
	table map[int]*terminal
}

// startPump makes the thread when the first terminal is opened.
func (in *Init) startPump() error {
	if in.pump != nil {
		return nil
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fail("epoll", "", err)
	}
	p := &pump{epoll: epoll, table: map[int]*terminal{}}
	in.mu.Lock()
	in.pump = p
	in.mu.Unlock()
	go in.pumpAll(p)
	return nil
}

// add watches a master, and the ring's space event if the terminal is fresh. Its
// run follows, and must be announced with Poke: what happens before is missed.
func (p *pump) add(t *terminal, master int) error {
	p.mu.Lock()
	fresh := p.table[t.number] == nil
	p.table[t.number] = t
	p.mu.Unlock()
	if fresh {
		if err := p.watch(t.ring.SpaceEvent(), t.number); err != nil {
			return err
		}
	}
	return p.watch(master, t.number)
}

func (p *pump) watch(fd, number int) error {
	ev := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(number)}
	return fail("watch terminal", "", unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &ev))
}

// drop stops watching. Closing would not do: a daemon's duplicate keeps the
// description alive, and with it the watch.
func (p *pump) drop(fd int) {
	_ = unix.EpollCtl(p.epoll, unix.EPOLL_CTL_DEL, fd, nil) // one that is not watched needs nothing
}

// remove forgets a terminal.
func (p *pump) remove(t *terminal) {
	p.mu.Lock()
	delete(p.table, t.number)
	p.mu.Unlock()
	p.drop(t.ring.SpaceEvent())
}

// pumpAll waits for output or space and moves what can be moved, a turn each.
func (in *Init) pumpAll(p *pump) {
	events := make([]unix.EpollEvent, 32)
	var busy []*terminal
	for {
		wait := -1
		if len(busy) > 0 {
			wait = 0
		}
		n, err := unix.EpollWait(p.epoll, events, wait)
		if err != nil {
			n = 0
		}
		busy = p.merge(busy, events[:n])
		kept := busy[:0]
		for _, t := range busy {
			if in.move(t) {
				kept = append(kept, t)
			}
		}
		clear(busy[len(kept):])
		busy = kept
	}
}

// merge adds the terminals of events to the list, each once.
func (p *pump) merge(busy []*terminal, events []unix.EpollEvent) []*terminal {
	p.mu.Lock()
	defer p.mu.Unlock()
next:
	for _, e := range events {
		t := p.table[int(e.Fd)]
		if t == nil {
			continue
		}
		for _, b := range busy {
			if b == t {
				continue next
			}
		}
		busy = append(busy, t)
	}
	return busy
}

const (
	// turn is how much a terminal may move before the others have theirs.
	turn = 64 << 10
	// leftover is more than the kernel holds of a terminal's output (8 KiB in
	// pty_common_install, 4 KiB of the line discipline). What comes later is not
	// of the program that has ended, but of somebody it left behind, who may go
	// on for ever.
	leftover = 64 << 10
)

// move copies output of one terminal and reports whether there is more to do
// now.
func (in *Init) move(t *terminal) bool {
	r := t.run.Load()
	if r == nil {
		in.restRing(t)
		return false
	}
	for moved := 0; moved < turn; {
		// Asked before the read: what it finds then includes all that the
		// program ever wrote, because read waits for the kernel's own worker.
		left := r.left.Load()
		n, err := t.ring.Fill(r.master)
		moved += n
		if left {
			r.drained += n
		}
		switch {
		case err == ring.ErrFull:
			t.ring.Tell()
			if !t.ring.Want() {
				return false // its space event brings us back
			}
		case err == unix.EINTR:
		case left && (err != nil || n == 0 || r.drained > leftover):
			t.ring.Tell()
			in.finish(r) // from here on it may be forgotten at any moment
			return false
		case err != nil || n == 0: // EAGAIN, or EIO: nobody has it open at present
			t.ring.Tell()
			t.ring.Rest()
			return false
		}
	}
	t.ring.Tell()
	return true
}

// restRing gives the memory of a terminal on which nothing runs back when all
// was stored. It may be forgotten at any moment.
func (in *Init) restRing(t *terminal) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !t.gone && t.run.Load() == nil {
		t.ring.Rest()
	}
}

package launch

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/stub"
)

// spare is a process inside that waits to become a program; see package stub,
// and pid1 for the other half. Of each there is, in this order:
//
//	daemon                                 PID 1
//	spare + its ends, those kept      →    starts the stub, enters it as an exec
//	                                  ←    its pid
//	the note, into its pipe                (not looked at)
//	what to become                    →    (the stub)
//	used                              →    looks for the note
//	                                  ←    exited, as of any program
//	ack                               →
//
// A daemon that dies before the note leaves a spare, which ends with the socket;
// one that dies after it leaves an exec, whose note PID 1 finds in the pipe. If
// anything about a spare fails, the program is started the ordinary way, under
// another id.
type spare struct {
	exec   *Exec
	talk   *os.File   // what it shall become
	note   *os.File   // the exec's note, for PID 1
	report *os.File   // at its end it has become something
	became chan error // one message: how the report ended
}

// spares is how many wait. With one, a client that sends the next command at once
// would find it not yet replaced.
const spares = 2

// sparesAfter is how many programs a sandbox must have run before it gets any:
// most that live shortly run one.
const sparesAfter = 2

// errOrdinary says that a program is to be started the ordinary way.
var errOrdinary = errors.New("no spare process fits")

// patience is how long a spare may take to become a program before it is left to
// itself. It takes a millisecond, unless somebody inside stops it: then it counts
// as a program that was stopped.
const patience = time.Second

// become starts a program in a spare process.
func (in *Init) become(ctx context.Context, s initproto.Spawn) (*Exec, error) {
	message, ok := becoming(s)
	if !ok {
		return nil, errOrdinary
	}
	sp := in.takeSpare()
	if sp == nil {
		return nil, errOrdinary
	}
	e := sp.exec
	e.Note = s.Note
	in.enter(e) // before it is told: its end may be reported at any moment from then on
	if _, err := sp.note.WriteString(s.Note); err != nil {
		in.leave(e) // PID 1 has found it dead and forgotten it
		sp.close()
		return nil, errOrdinary
	}
	if err := fdpass.Post(sp.talk, message); err != nil {
		in.giveBack(sp)
		return nil, errOrdinary
	}
	return in.awaitBecoming(ctx, sp)
}

func (in *Init) awaitBecoming(ctx context.Context, sp *spare) (*Exec, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case err := <-sp.became:
		if err != nil {
			in.giveBack(sp)
			return nil, errOrdinary
		}
	case <-timer.C:
	case <-in.lost:
		sp.close()
		in.leave(sp.exec)
		return nil, gone(ErrLost)
	case <-ctx.Done():
		sp.closeTalk()
		in.abandon(ctx, sp.exec)
		return nil, context.Cause(ctx)
	}
	sp.closeTalk()
	// Nothing depends on it: but a PID 1 that was awake a moment ago tells the
	// end of the program much faster than one that has to find its memory again.
	_ = in.conn.Write(initproto.Message{Op: initproto.OpUsed, Exec: sp.exec.ID}) // a lost one tells itself
	return sp.exec, nil
}

// giveBack ends a spare that was given a note but did not become a program.
func (in *Init) giveBack(sp *spare) {
	sp.closeTalk()
	go in.killAndRelease(sp.exec)
}

// takeSpare gives one that waits, or nil.
func (in *Init) takeSpare() *spare {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.spares) == 0 {
		return nil
	}
	sp := in.spares[0]
	in.spares = in.spares[1:]
	return sp
}

// prepare has spares started until enough wait. One caller at a time does.
func (in *Init) prepare() {
	for in.wantsSpare() {
		sp, err := in.newSpare()
		in.mu.Lock()
		in.preparing = false
		if err == nil && !in.hungUp {
			in.spares = append(in.spares, sp)
			sp = nil
		}
		in.mu.Unlock()
		if err != nil {
			return // want of processes, perhaps: after the next program we try again
		}
		if sp != nil {
			sp.close()
		}
	}
}

// wantsSpare reports whether the caller shall start one.
func (in *Init) wantsSpare() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !stub.Supported || in.hungUp || in.preparing || in.released < sparesAfter || len(in.spares) >= spares {
		return false
	}
	in.preparing = true
	return true
}

// newSpare makes the pipes and has PID 1 start one.
func (in *Init) newSpare() (*spare, error) {
	sp, theirs, kept, err := newSparePipes()
	defer fdpass.CloseAll(theirs)
	if err != nil {
		sp.close()
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), helloTime)
	defer cancel()
	sp.exec.in = in
	m, err := in.ask(ctx, initproto.Message{Op: initproto.OpSpare, Exec: sp.exec.ID}, append(theirs, kept...)...)
	if err != nil {
		sp.close()
		return nil, err
	}
	sp.exec.PID = m.PID
	go in.watch(sp)
	return sp, nil
}

// newSparePipes gives a spare, the descriptors that are only for PID 1 and those
// of ours that it keeps too.
func newSparePipes() (sp *spare, theirs, kept []int, err error) {
	sp = &spare{exec: &Exec{ID: newID(), done: make(chan struct{})}, became: make(chan error, 1)}
	their := func(fd int) { theirs = append(theirs, fd) }
	talk, fd, err := fdpass.Packets()
	if err != nil {
		return sp, theirs, nil, err
	}
	sp.talk = talk
	their(fd)
	for _, f := range []**os.File{&sp.report, &sp.exec.Stdout, &sp.exec.Stderr} {
		if *f, fd, err = fdpass.Pipe(false); err != nil {
			return sp, theirs, nil, err
		}
		their(fd)
	}
	if sp.note, fd, err = fdpass.Pipe(true); err != nil {
		return sp, theirs, nil, err
	}
	their(fd)
	return sp, theirs, []int{fdpass.Number(sp.exec.Stdout), fdpass.Number(sp.exec.Stderr)}, nil
}

// watch waits for what becomes of a spare. One that ends while it waits was
// killed from inside: it is forgotten.
func (in *Init) watch(sp *spare) {
	var b [1]byte
	_, err := sp.report.Read(b[:])
	sp.report.Close()
	if errors.Is(err, io.EOF) {
		sp.became <- nil
	} else {
		sp.became <- errOrdinary // it says why; the ordinary way will find out
	}
	in.mu.Lock()
	i := slices.Index(in.spares, sp)
	if i >= 0 {
		in.spares = slices.Delete(in.spares, i, i+1)
	}
	in.mu.Unlock()
	if i >= 0 {
		sp.close()
	}
}

// dropSpares lets those that wait end.
func (in *Init) dropSpares() {
	in.mu.Lock()
	list := in.spares
	in.spares, in.hungUp = nil, true
	in.mu.Unlock()
	for _, sp := range list {
		sp.close()
	}
}

// close lets go of a spare that will not be used; it ends by itself.
func (sp *spare) close() {
	sp.closeTalk()
	sp.exec.closePipes()
}

// closeTalk lets go of what a program is not: whatever its stub had to say has
// been said, or nobody listens any more.
func (sp *spare) closeTalk() { closeFiles([]*os.File{sp.talk, sp.note, sp.report}) }

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return hex.EncodeToString(b[:])
}

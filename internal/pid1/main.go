package pid1

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// Descriptors coop-init is born with.
const (
	ControlFD = 3 // socket pair to the daemon that made us
	ListenFD  = 4 // init.sock, bound and listening
)

// Main is coop-init. It returns an exit status only when the sandbox could not
// be made or the daemon went away before commit; afterwards PID 1 never ends by
// itself.
func Main() int {
	// The thread-group leader must stay alive and unchanged: /proc/1 speaks of it.
	runtime.LockOSThread()
	name := []byte("coop-init\x00")
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0) // only for people who look
	conn := &initproto.Conn{Socket: fdpass.Socket{FD: ControlFD}, Max: initproto.MaxToInit}
	if err := prepare(conn); err != nil {
		return 1
	}
	select {}
}

// prepare is the handshake of the protocol's first table.
func prepare(conn *initproto.Conn) error {
	m, fds, err := conn.Read()
	if err != nil {
		return err
	}
	if m.Op != initproto.OpSetup || m.Setup == nil {
		return initproto.ErrProtocol
	}
	kept, err := keep(*m.Setup, fds)
	if err != nil {
		return err
	}
	thread, degraded, err := setUp(*m.Setup, fds)
	var in *Init
	if err == nil {
		in, err = newInit(*m.Setup)
	}
	if err == nil {
		in.kept = kept
	}
	if err != nil {
		_ = conn.Write(initproto.Message{ID: m.ID, Op: initproto.OpReady, Error: wire(err)}) // we end anyway
		return err
	}
	answer := initproto.Message{ID: m.ID, Op: initproto.OpReady, Ready: &initproto.Ready{Degraded: degraded}}
	if err := conn.Write(answer); err != nil {
		return err
	}
	commit, _, err := conn.Read()
	if err != nil {
		return err
	}
	if commit.Op != initproto.OpCommit {
		return initproto.ErrProtocol
	}
	// Setting up used two processors; serving needs one at a time, and is quicker
	// without the hand-overs between them.
	runtime.GOMAXPROCS(1)
	thread.run(func() { in.serve(conn) })
	return nil
}

// fail makes the error of one step.
func fail(step, path string, err error) error {
	if err == nil {
		return nil
	}
	var errno syscall.Errno
	e := &initproto.Error{Step: step, Path: path, Message: err.Error()}
	if errors.As(err, &errno) {
		e.Errno = int(errno)
	}
	return e
}

// wire turns any error into one that can be sent.
func wire(err error) *initproto.Error {
	var e *initproto.Error
	if errors.As(err, &e) {
		return e
	}
	fail := fail("init", "", err)
	errors.As(fail, &e)
	return e
}

// closeOnExec keeps every descriptor we were born with out of programs.
func closeOnExec() error {
	return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC)
}

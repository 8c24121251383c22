// Package fdpass moves bytes and descriptors over a blocking unix stream socket
// by raw system calls. PID 1 uses it instead of package net, which would cost
// it a poller and a megabyte.
//
// Invariant: received descriptors are close-on-exec from the first moment.
package fdpass

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Socket is one connected unix stream socket in blocking mode.
type Socket struct{ FD int }

// Send writes all of b; fds go with its first byte.
func (s Socket) Send(b []byte, fds []int) error {
	if len(fds) == 0 {
		b = b[s.sendNow(b):]
	}
	oob := Control(fds)
	for len(b) > 0 {
		n, err := unix.SendmsgN(s.FD, b, oob, nil, unix.MSG_NOSIGNAL)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b, oob = b[n:], nil
	}
	return nil
}

// sendNow sends what the socket takes at once and says how much that was. It
// does so without telling the Go scheduler: the call is over before another
// thread could make use of the processor.
func (s Socket) sendNow(b []byte) int {
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(s.FD), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
		unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0 // whatever it is, the ordinary call meets it again
	}
	return int(n)
}

// Recv reads at most len(b) bytes and whatever descriptors came with them.
func (s Socket) Recv(b []byte) (int, []int, error) {
	oob := make([]byte, unix.CmsgSpace(4*256))
	for {
		n, oobn, _, _, err := unix.Recvmsg(s.FD, b, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return 0, nil, err
		}
		fds, err := Rights(oob[:oobn])
		return n, fds, err
	}
}

// Close closes the socket.
func (s Socket) Close() error { return unix.Close(s.FD) }

// Rights takes the descriptors out of control data.
func Rights(oob []byte) ([]int, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var fds []int
	for _, m := range msgs {
		got, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue // credentials or another kind: not asked for, harmless
		}
		fds = append(fds, got...)
	}
	return fds, nil
}

// Peer gives the process id and user id of the other end as this process's
// namespaces see them: pid 0 is a process outside of our pid namespace.
func Peer(fd int) (pid, uid int, err error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(c.Pid), int(c.Uid), nil
}

// Pair makes two connected sockets, both close-on-exec.
func Pair() (a, b int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	return fds[0], fds[1], err
}

// CloseAll closes descriptors nobody will use.
func CloseAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd) // nothing can be done about a descriptor that will not close
	}
}

// Control makes the control data that carries descriptors; nil for none.
func Control(fds []int) []byte {
	if len(fds) == 0 {
		return nil
	}
	return unix.UnixRights(fds...)
}

// Number gives a file's descriptor without touching its mode: os.File.Fd would
// make it blocking and take it from the Go poller.
func Number(f *os.File) int {
	n := -1
	if rc, err := f.SyscallConn(); err == nil {
		_ = rc.Control(func(fd uintptr) { n = int(fd) }) // a closed file keeps -1
	}
	return n
}

// NonBlock makes a descriptor fit for the Go poller.
func NonBlock(fd int) error { return unix.SetNonblock(fd, true) }

// Dup gives a second, independent hold on a pollable file.
func Dup(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(uintptr(Number(f)), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// HungUp reports whether nobody holds the other end of a pipe any more.
func HungUp(f *os.File) bool {
	p := []unix.PollFd{{Fd: int32(Number(f)), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents&unix.POLLHUP != 0
}

// ReadNow reads what is in a pollable file at this moment, without waiting:
// when there is nothing the error is unix.EAGAIN.
func ReadNow(f *os.File, b []byte) (n int, err error) {
	rc, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := rc.Read(func(fd uintptr) bool {
		for {
			if n, err = unix.Read(int(fd), b); err != unix.EINTR {
				return true
			}
		}
	})
	if cerr != nil {
		return 0, cerr
	}
	return n, err
}

// Pipe makes a pipe whose one end stays here, with the Go poller, and whose
// other end goes to a program: blocking, and not registered anywhere. Ours is
// the read end, or the write end if input.
func Pipe(input bool) (ours *os.File, theirs int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, os.NewSyscallError("pipe2", err)
	}
	here, there := p[0], p[1]
	if input {
		here, there = p[1], p[0]
	}
	if err := unix.SetNonblock(here, true); err != nil {
		CloseAll(p[:])
		return nil, -1, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(here), "pipe"), there, nil
}

// Share gives a second descriptor of the same open file, of whatever kind.
func Share(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

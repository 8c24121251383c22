package fdpass

import (
	"os"

	"golang.org/x/sys/unix"
)

// Packets makes two connected sockets that keep messages apart, both
// close-on-exec. They are not with the Go poller: it would be woken each time
// the other side reads.
func Packets() (ours *os.File, theirs int, err error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(p[0]), "packets"), p[1], nil
}

// Post sends one message on such a socket, whole or not at all, and does not wait
// for room.
func Post(f *os.File, b []byte) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	cerr := rc.Control(func(fd uintptr) {
		for {
			if _, err = unix.SendmsgN(int(fd), b, nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT); err != unix.EINTR {
				return
			}
		}
	})
	if cerr != nil {
		return cerr
	}
	return err
}

package cgroup

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// watch waits for kernel events without holding a thread: an epoll descriptor is
// itself pollable, so Go's own poller can wait for it. inotify would do for
// cgroup.events, but a user has only 128 instances of it.
type watch struct{ epoll *os.File }

func newWatch() (*watch, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// os.NewFile gives only non-blocking descriptors to the poller.
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd) // the error that led here is the one to report
		return nil, os.NewSyscallError("fcntl", err)
	}
	return &watch{epoll: os.NewFile(uintptr(fd), "epoll")}, nil
}

func (w *watch) close() { _ = w.epoll.Close() } // nothing is written to an epoll

// add watches fd for events until fd is closed.
func (w *watch) add(fd int, events uint32) error {
	return withFD(w.epoll, "epoll_ctl", "", func(epoll int) error {
		return unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	})
}

// wait returns when any watched descriptor has an event, or with ctx's cause.
func (w *watch) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		_ = w.epoll.SetReadDeadline(time.Unix(1, 0)) // fails only when closed, and then wait fails too
	})
	defer stop()
	conn, err := w.epoll.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = conn.Read(func(fd uintptr) bool {
		var event [1]unix.EpollEvent
		n, err := unix.EpollWait(int(fd), event[:], 0)
		if err != nil && err != unix.EINTR {
			inner = os.NewSyscallError("epoll_wait", err)
			return true
		}
		return n > 0
	})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return context.Cause(ctx)
	}
	return errors.Join(err, inner)
}

// waitEvent waits until key has value in the cgroup.events of dir. A group that is
// gone satisfies every wait.
func waitEvent(ctx context.Context, dir *os.File, key string, value int64) error {
	var file int
	err := withFD(dir, "open", "cgroup.events", func(fd int) (err error) {
		file, err = unix.Openat(fd, "cgroup.events", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		return err
	})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(file)
	w, err := newWatch()
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.add(file, unix.EPOLLPRI); err != nil {
		return err
	}
	for {
		// Reading acknowledges the event: kernfs reports EPOLLPRI from here on only
		// for what happens after this read, so nothing falls in between.
		got, err := readEvent(file, key)
		if errors.Is(err, unix.ENODEV) || err == nil && got == value {
			return nil
		}
		if err != nil {
			return os.NewSyscallError("read cgroup.events", err)
		}
		if err := w.wait(ctx); err != nil {
			return err
		}
	}
}

func readEvent(file int, key string) (int64, error) {
	var buf [256]byte
	n, err := unix.Pread(file, buf[:], 0)
	if err != nil {
		return 0, err
	}
	got, ok := keyed(string(buf[:n]), key)
	if !ok {
		return 0, unix.ENOTSUP
	}
	return got, nil
}

// waitExit waits until one of pids has ended. The kernel tells about v1 groups in no
// other way.
func waitExit(ctx context.Context, pids []int) error {
	w, err := newWatch()
	if err != nil {
		return err
	}
	defer w.close()
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err == unix.ESRCH {
			return nil // ended already
		}
		if err != nil {
			return os.NewSyscallError("pidfd_open", err)
		}
		defer unix.Close(fd)
		if err := w.add(fd, unix.EPOLLIN); err != nil {
			return err
		}
	}
	return w.wait(ctx)
}

// pause is for the few kernel states that announce nothing.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

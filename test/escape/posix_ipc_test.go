package escape

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func posixIPC() attack {
	return attack{
		Class: ipcClass, Name: "posix-ipc",
		Attack: "open a POSIX message queue and a shared memory file of the host by name",
		Proves: "POSIX objects are the sandbox's own",
		Host: func(t *testing.T, b *box) {
			name := fmt.Sprintf("coop-escape-%d", os.Getpid())
			b.env["COOP_TARGET"] = name
			if err := posixMake(name); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = call(unix.SYS_MQ_UNLINK, pointer(text(name)))
				_ = os.Remove("/dev/shm/" + name) // made above
			})
		},
		Run: func() error { return posixOpen(os.Getenv("COOP_TARGET")) },
		Control: func() error {
			if err := posixMake("control"); err != nil {
				return err
			}
			return posixOpen("control")
		},
		Denied: errnos(unix.ENOENT),
		Fixed:  "ipc namespace, a /dev/shm of its own",
	}
}

func posixMake(name string) error {
	fd, err := value(unix.SYS_MQ_OPEN, pointer(text(name)), unix.O_CREAT|unix.O_RDWR, 0o666, 0)
	if err != nil {
		return err
	}
	if err := unix.Close(int(fd)); err != nil {
		return err
	}
	return os.WriteFile("/dev/shm/"+name, []byte("x"), 0o666)
}

func posixOpen(name string) error {
	var a attempts
	fd, err := value(unix.SYS_MQ_OPEN, pointer(text(name)), unix.O_RDONLY, 0, 0)
	a.try("mq_open", err)
	unix.Close(int(fd))
	a.try("shm", read("/dev/shm/"+name))
	return a.result()
}

package escape

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func sysvIPC() attack {
	return attack{
		Class: ipcClass, Name: "sysv-ipc",
		Attack: "open System V shared memory, semaphores and message queues of the host by their keys",
		Proves: "System V objects are the sandbox's own",
		Host: func(t *testing.T, b *box) {
			key := 0x0c00000 + os.Getpid()
			b.env["COOP_TARGET"] = strconv.Itoa(key)
			shm, sem, msg, err := sysvOpen(key, unix.IPC_CREAT|0o666)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = call(unix.SYS_SHMCTL, shm, unix.IPC_RMID, 0)
				_ = call(unix.SYS_SEMCTL, sem, 0, unix.IPC_RMID, 0)
				_ = call(unix.SYS_MSGCTL, msg, unix.IPC_RMID, 0)
			})
		},
		Run: func() error {
			key, err := strconv.Atoi(os.Getenv("COOP_TARGET"))
			if err != nil {
				return err
			}
			var a attempts
			for name, number := range map[string]uintptr{"shm": unix.SYS_SHMGET, "sem": unix.SYS_SEMGET} {
				a.try(name, call(number, uintptr(key), 1, 0))
			}
			a.try("msg", call(unix.SYS_MSGGET, uintptr(key), 0))
			return a.result()
		},
		Control: func() error { // the same with objects of the sandbox
			const key = 0x0c0ffee
			if _, _, _, err := sysvOpen(key, unix.IPC_CREAT|0o600); err != nil {
				return err
			}
			_, _, _, err := sysvOpen(key, 0)
			return err
		},
		Denied: errnos(unix.ENOENT),
		Fixed:  "ipc namespace",
	}
}

func sysvOpen(key int, flags uintptr) (shm, sem, msg uintptr, err error) {
	if shm, err = value(unix.SYS_SHMGET, uintptr(key), 1, flags); err != nil {
		return
	}
	if sem, err = value(unix.SYS_SEMGET, uintptr(key), 1, flags); err != nil {
		return
	}
	msg, err = value(unix.SYS_MSGGET, uintptr(key), flags)
	return
}

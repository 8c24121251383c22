package escape

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

func repoLocks() attack {
	return attack{
		Class: ipcClass, Name: "repo-locks",
		Attack: "lock a file of the project through /repo against the programs of the host",
		Proves: "a view that is read-only does not hold up its owner",
		Host: func(t *testing.T, b *box) {
			b.dir = harness.Project(t)
			copyProbe(t, b.dir)
			f, err := os.Open(filepath.Join(b.dir, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Close() }) // only looked at
			if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
		},
		Run:     func() error { return seesLock("/repo/README.md") },
		Control: func() error { return seesOwnLock("/tmp/locked") },
		Denied:  errnos(unix.ENODATA),
		Fixed:   "/repo has inodes of its own",
	}
}

// seesLock succeeds when a lock held on the host counts here: then one taken here
// counts on the host.
func seesLock(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return nothing("the lock is another one")
	}
	return reached(err, unix.EWOULDBLOCK)
}

func seesOwnLock(path string) error {
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return err
	}
	return seesLock(path)
}

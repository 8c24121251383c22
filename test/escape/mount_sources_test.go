package escape

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

func mountSources() attack {
	return attack{
		Class: runtimeClass, Name: "mount-sources",
		Attack: "have a mount led to Coop's state, to the kernel's files, through links, or to files of others",
		Proves: "a mount shows what was named and belongs to who asks, or nothing",
		Drive: func(t *testing.T, b *box) error {
			dir := harness.Project(t)
			for name, to := range map[string]string{"link": b.home.Dir, "home": filepath.Dir(b.home.Dir), "self": "/proc/self/root"} {
				if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			sources := []string{
				b.home.Dir, b.home.Dir + "/sandboxes", b.home.Dir + "/coop.db", b.home.Dir + "/daemon.sock", "/", filepath.Dir(b.home.Dir),
				dir + "/link", dir + "/link/sandboxes", dir + "/home", dir + "/self", dir + "/self/etc", "/proc", "/proc/1/root", "/sys", "/dev", "/dev/null",
			}
			if b.mode != asRoot {
				sources = append(sources, "/etc", "/usr", "/etc/passwd", "/root")
			}
			var a attempts
			for _, src := range sources {
				a.try(src, showsMount(t, b, src))
			}
			// The control: an ordinary directory is shown.
			if err := showsMount(t, b, dir); err != nil {
				t.Fatalf("control: %v", err)
			}
			return a.result()
		},
		Denied: errnos(unix.EACCES),
		Fixed:  "sources are opened without following links and judged by that descriptor",
	}
}

// showsMount makes a sandbox with a mount and reports whether it came to be.
func showsMount(t *testing.T, b *box, src string) error {
	r := b.home.Coop(t, "run", "--mode", "none", "--mount", src+":/mnt/shown", "--", "true")
	switch {
	case r.Code == 0:
		return nil
	case r.Code == 125 && strings.Contains(r.Stderr, "hint: "):
		return refused(unix.EACCES, "%s", strings.TrimSpace(r.Stderr))
	}
	t.Fatalf("mount of %s: exit status %d: %s", src, r.Code, r.Stderr)
	return nil
}

// mountLinks plants links where the next start mounts volumes, caches and what
// is kept: none may lead a mount elsewhere.
func mountLinks() attack {
	return attack{
		Class: runtimeClass, Name: "mount-links", CVE: "CVE-2025-31133",
		Attack: "leave symbolic links and a forged /etc/passwd where the next start mounts volumes and kept directories",
		Proves: "a mount of a volume is never led elsewhere by what an upper layer holds",
		Drive: func(t *testing.T, b *box) error {
			var a attempts
			a.try("link", mountsElsewhere(t, b, "mv /place /old && ln -s /etc /place"))
			a.try("passwd", mountsElsewhere(t, b, "sed -i 's,^daemon:.*,daemon:x:1:1::/proc/self:/bin/sh,' /etc/passwd && grep -q self /etc/passwd"))
			return a.result()
		},
		In:     map[string]change{singleID: {Skip: true, Why: "there is no user but root"}},
		Denied: errnos(unix.ENOTDIR, unix.ELOOP, unix.EPERM, unix.EINVAL),
		Fixed:  "mount targets are opened name by name without following links; homes in the kernel's filesystems are refused",
	}
}

func mountsElsewhere(t *testing.T, b *box, script string) error {
	id := b.home.Create(t, "--workspace", b.dir, "--volume", "links:/place/volume", "--user", "daemon")
	if r := b.home.Coop(t, "exec", "-u", "root", id, "--", "sh", "-c", script); r.Code != 0 {
		t.Fatalf("%s: %s", script, r.Stderr)
	}
	if r := b.home.Coop(t, "stop", id); r.Code != 0 {
		t.Fatalf("stop: %s", r.Stderr)
	}
	r := b.home.Coop(t, "start", id)
	for _, e := range []unix.Errno{unix.ENOTDIR, unix.ELOOP, unix.EPERM} {
		if r.Code != 0 && strings.Contains(r.Stderr, e.Error()) {
			return refused(e, "%s", strings.TrimSpace(r.Stderr))
		}
	}
	if r.Code != 0 {
		t.Fatalf("start: exit status %d: %s", r.Code, r.Stderr)
	}
	mounts := b.home.Exec(t, id, "cut", "-d", " ", "-f5", "/proc/self/mountinfo").Stdout
	for _, m := range strings.Split(mounts, "\n") {
		if strings.HasPrefix(m, "/etc") || strings.Contains(m, ".claude") && strings.HasPrefix(m, "/proc") {
			return nil
		}
	}
	return refused(unix.EINVAL, "the mounts went where they should")
}

func shownSocket() attack {
	return attack{
		Class: ipcClass, Name: "shown-socket",
		Attack: "connect to a unix socket and take a lock in a directory that is mounted read-only",
		Proves: "a read-only mount gives files, not the services behind them",
		Host: func(t *testing.T, b *box) {
			dir := harness.Project(t)
			l, err := net.Listen("unix", filepath.Join(dir, "s"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() }) // ends with the test
			f, err := os.Create(filepath.Join(dir, "locked"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Close() }) // only locked
			if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			b.create = append(b.create, "--mount", dir+":/mnt/shown")
		},
		Run: func() error {
			var a attempts
			a.try("socket", connect(&unix.SockaddrUnix{Name: "/mnt/shown/s"}))
			a.try("lock", seesLock("/mnt/shown/locked"))
			return a.result()
		},
		Control: func() error {
			l, err := net.Listen("unix", "/workspace/own")
			if err != nil {
				return err
			}
			defer l.Close()
			if err := connect(&unix.SockaddrUnix{Name: "/workspace/own"}); err != nil {
				return err
			}
			return seesOwnLock("/tmp/locked")
		},
		Denied: errnos(unix.ECONNREFUSED, unix.EACCES, unix.EROFS, unix.ENODATA),
		Fixed:  "a read-only mount of a directory is an overlay with inodes of its own",
	}
}

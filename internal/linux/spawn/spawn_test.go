package spawn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/memfd"
	"github.com/coop-dev/coop/internal/linux/pidfd"
)

const childArg0 = "spawn-child"

// TestMain also is the program the tests clone.
func TestMain(m *testing.M) {
	if os.Args[0] == childArg0 {
		os.Exit(child())
	}
	os.Exit(m.Run())
}

// child tells what it is on descriptor 3 and lives until descriptor 4 ends.
func child() int {
	uids, _ := os.ReadFile("/proc/self/uid_map") // the test looks at what comes
	setgroups, _ := os.ReadFile("/proc/self/setgroups")
	null, _ := os.Readlink("/proc/self/fd/0")
	dir, _ := os.Getwd()
	out := os.NewFile(3, "out")
	fmt.Fprintln(out, strings.Join([]string{
		fmt.Sprint(os.Getpid(), os.Getuid(), os.Getgid()), strings.Join(strings.Fields(string(uids)), " "),
		strings.TrimSpace(string(setgroups)), null, dir, strings.Join(os.Args, " "), strings.Join(environ(), " "),
	}, "|"))
	for _, ns := range namespaces() {
		link, _ := os.Readlink("/proc/self/ns/" + ns)
		fmt.Fprintln(out, ns, link)
	}
	out.Close()
	_, _ = io.Copy(io.Discard, os.NewFile(4, "in")) // its end is ours
	return 0
}

func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "GORACE=") })
}

func namespaces() []string { return []string{"user", "mnt", "pid", "uts", "ipc", "cgroup", "net"} }

// own is the map with which anybody may clone: the own id as 0.
func own() (uids, gids idmap.Map) {
	return idmap.Map{{Outside: uint32(os.Getuid()), Count: 1}}, idmap.Map{{Outside: uint32(os.Getgid()), Count: 1}}
}

// start clones the child; lines are what it said.
func start(t *testing.T, c Config) (*pidfd.Process, []string) {
	t.Helper()
	code, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if c.Program, err = memfd.Program("child", code); err != nil {
		t.Fatal(err)
	}
	defer c.Program.Close()
	r, w := pipe(t)
	in, stay := pipe(t)
	c.Argv, c.Files = []string{childArg0, "one"}, []*os.File{w, in}
	c.Env = append(c.Env, "GORACE=atexit_sleep_ms=0")
	p, err := Start(c)
	if err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
			need(t, err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stay.Close()
		_ = p.Kill()                     // it may have ended
		_ = p.Wait(context.Background()) // the test's own context is gone
		p.Close()
	})
	w.Close()
	in.Close()
	said, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return p, strings.Split(strings.TrimSpace(string(said)), "\n")
}

func need(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs user namespaces, which CI must have: %v", err)
	}
	t.Skipf("needs user namespaces: %v", err)
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func TestStart(t *testing.T) {
	for name, c := range map[string]struct {
		config Config
		pid    string
		fresh  []string
	}{
		"all":        {Config{PIDs: true, Net: true}, "1", namespaces()},
		"host's net": {Config{PIDs: true}, "1", []string{"user", "mnt", "pid", "uts", "ipc", "cgroup"}},
		"few":        {Config{Setsid: true}, "", []string{"user", "mnt"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.UIDs, c.config.GIDs = own()
			c.config.Env = []string{"A=b"}
			p, said := start(t, c.config)
			pid := c.pid
			if pid == "" {
				pid = fmt.Sprint(p.PID)
			}
			want := fmt.Sprintf("%s 0 0|0 %d 1|deny|/dev/null|/|spawn-child one|A=b", pid, os.Getuid())
			if said[0] != want {
				t.Errorf("the child is %q\nwant %q", said[0], want)
			}
			for _, line := range said[1:] {
				ns, link, _ := strings.Cut(line, " ")
				ours, err := os.Readlink("/proc/self/ns/" + ns)
				if err != nil {
					t.Fatal(err)
				}
				if fresh := ours != link; fresh != slices.Contains(c.fresh, ns) {
					t.Errorf("%s namespace of its own: %v", ns, fresh)
				}
			}
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
			if err := p.Wait(t.Context()); err != nil || p.Alive() {
				t.Error(err)
			}
		})
	}
}

func TestStartWithARangeAndGroups(t *testing.T) {
	needRoot(t)
	_, said := start(t, Config{UIDs: idmap.Based(idmap.First), GIDs: idmap.Based(idmap.First), Groups: true, PIDs: true})
	if want := "1 0 0|0 1879048192 65536|allow|/dev/null|/|spawn-child one|"; said[0] != want {
		t.Errorf("the child is %q\nwant %q", said[0], want)
	}
}

func TestStartFails(t *testing.T) {
	uids, gids := own()
	script, err := memfd.Program("no-program", []byte("neither ELF nor script"))
	if err != nil {
		t.Fatal(err)
	}
	defer script.Close()
	before := fds(t)
	p, err := Start(Config{Program: script, Argv: []string{"x"}, UIDs: uids, GIDs: gids})
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSPC) {
		need(t, err)
	}
	if p != nil || !errors.Is(err, unix.ENOEXEC) {
		t.Fatalf("%v, want ENOEXEC", err)
	}
	if after := fds(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	// Nobody is left of it: a child that failed to execute was collected.
	var ws unix.WaitStatus
	if pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("child %d is left, %v", pid, err)
	}
}

func fds(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: an ordinary user cannot map a range by itself")
	}
}

// TestUserNS reads the maps back through a child that is put into it.
func TestUserNS(t *testing.T) {
	needRoot(t)
	before := fds(t)
	uids, gids := idmap.Owned(1000, 5, idmap.First), idmap.Based(idmap.First)
	ns, err := UserNS(uids, gids)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	if after := fds(t); after != before+1 {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if kind, err := unix.IoctlRetInt(int(ns.Fd()), unix.NS_GET_NSTYPE); err != nil || kind != unix.CLONE_NEWUSER {
		t.Errorf("a namespace of kind %#x, %v", kind, err)
	}
	ours, err := os.Stat("/proc/self/ns/user")
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := ns.Stat()
	if err != nil || os.SameFile(ours, theirs) {
		t.Errorf("our own namespace: %v", err)
	}
	var ws unix.WaitStatus
	if pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("child %d is left, %v", pid, err)
	}
	checkIDMap(t, ns, map[uint32]uint32{1000: idmap.First + 5, 7: 65534}) // others have no id there
}

// checkIDMap looks at files of some owners through a mount with the map.
func checkIDMap(t *testing.T, ns *os.File, want map[uint32]uint32) {
	t.Helper()
	dir := t.TempDir()
	for uid := range want {
		name := fmt.Sprintf("%s/%d", dir, uid)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(name, int(uid), 0); err != nil {
			t.Fatal(err)
		}
	}
	m, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(m)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(ns.Fd())}
	if err := unix.MountSetattr(m, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("needs a filesystem with idmapped mounts at %s, which CI must have: %v", dir, err)
		}
		t.Skipf("needs a filesystem with idmapped mounts at %s: %v", dir, err)
	}
	for uid, shown := range want {
		var st unix.Stat_t
		if err := unix.Fstatat(m, fmt.Sprint(uid), &st, 0); err != nil || st.Uid != shown {
			t.Errorf("uid %d is shown as %d, %v; want %d", uid, st.Uid, err, shown)
		}
	}
}

func TestUserNSWithAnImpossibleMap(t *testing.T) {
	needRoot(t)
	twice := idmap.Map{{Inside: 0, Outside: 5, Count: 10}, {Inside: 5, Outside: 100, Count: 10}}
	before := fds(t)
	if ns, err := UserNS(twice, twice); err == nil {
		ns.Close()
		t.Error("a map with overlapping lines")
	}
	if after := fds(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

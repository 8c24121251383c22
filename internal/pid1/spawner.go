package pid1

import (
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/fence"
	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/caps"
	"github.com/coop-dev/coop/internal/linux/seccomp/load"
)

// Programs are started by one thread, which also reads the daemon's requests so
// that a start needs no hand-over. It has given up for its children what PID 1
// keeps for itself: the bounding set is trimmed, privileges cannot be gained by
// executing, and the system-call filter is installed. A child inherits all of
// it. Installing the filter for each program instead would cost 2 ms a start.
// Whatever needs a capability beyond that runs on other threads.

// fencedThread is that thread before it has anything to do.
type fencedThread struct {
	raised chan error
	job    chan func()
}

// startFenced makes the thread and lets it raise its fences.
func startFenced(s initproto.Setup) *fencedThread {
	t := &fencedThread{raised: make(chan error, 1), job: make(chan func())}
	go func() {
		runtime.LockOSThread() // for ever: this thread must never run anything else
		err := raiseFences(s)
		t.raised <- err
		if err == nil {
			(<-t.job)()
		}
	}()
	return t
}

// wait returns when the fences stand.
func (t *fencedThread) wait() error { return <-t.raised }

// run gives the thread what it will do for ever.
func (t *fencedThread) run(f func()) { t.job <- f }

// raiseFences takes privileges from the calling thread's children.
func raiseFences(s initproto.Setup) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil { // a working directory of its own
		return fail("unshare fs", "", err)
	}
	unix.Umask(0o022) // this thread's own from here on; programs inherit it
	gone := func(name string) bool { return fence.Gone(s.Without, name) }
	if !gone(fence.Bounding) {
		if err := caps.Apply(caps.Set(s.Bounding)); err != nil {
			return fail("bounding set", "", err)
		}
	}
	if !gone(fence.NoNewPrivs) {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fail("no_new_privs", "", err)
		}
	}
	if len(s.Seccomp) == 0 {
		return nil
	}
	return fail("seccomp", "", load.Install(s.Seccomp))
}

// start runs one program and enters it into the table. stdio are its three
// descriptors, kept what PID 1 holds for the next daemon.
func (in *Init) start(s initproto.Spawn, stdio, kept []int) (int, error) {
	cred, home, name, err := resolveUser(s.User)
	if err != nil {
		return 0, err
	}
	if err := in.mapped(cred); err != nil {
		return 0, err
	}
	env := initproto.WithHome(s.Env, home, name)
	if err := in.enterDir(s.Dir); err != nil {
		return 0, err
	}
	file, err := lookPath(s.Argv[0], s.Dir, env)
	if err != nil {
		return 0, err
	}
	attr := &syscall.ProcAttr{Env: env, Sys: &syscall.SysProcAttr{Setpgid: true, Credential: in.credential(cred)}}
	if !s.Stdin {
		attr.Files = []uintptr{uintptr(in.null)}
	}
	for _, fd := range stdio {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	e := &execution{id: s.Exec, note: s.Note, stdin: -1, output: kept}
	if s.Stdin {
		e.stdin, e.output = kept[0], slices.Clone(kept[1:])
	}
	return in.fork(e, file, s.Argv, attr)
}

// credential is nil for root, which this thread is already.
func (in *Init) credential(c *syscall.Credential) *syscall.Credential {
	if c.Uid == 0 && c.Gid == 0 {
		return nil
	}
	c.NoSetGroups = !in.groups
	return c
}

// fork starts the program under the lock that the reaper takes. The thread is in
// a cgroup namespace made for this program: children inherit it whatever they
// do, so it marks the program's whole tree for kill.
func (in *Init) fork(e *execution, file string, argv []string, attr *syscall.ProcAttr) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ending && e.spare {
		return 0, fail("spare", "", unix.EAGAIN)
	}
	if in.tag == "" {
		if err := in.retag(); err != nil {
			return 0, err
		}
	}
	freeAffinity()
	attr.Sys.PidFD = &e.pidfd
	pid, err := syscall.ForkExec(file, argv, attr)
	if err != nil {
		return 0, fail("exec", argv[0], err)
	}
	e.pid, e.tag, in.tag = pid, in.tag, ""
	in.watched = append(in.watched, e)
	in.execs[e.id], in.pids[pid] = e, e
	in.count++
	in.children.Broadcast()
	return pid, nil
}

// retag gives the calling thread a fresh cgroup namespace and notes its name. It
// is called after a start has been answered, to be ready for the next one.
func (in *Init) retag() error {
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return fail("cgroup namespace", "", err)
	}
	tag, err := readLink("/proc/thread-self/ns/cgroup")
	in.tag = tag
	return err
}

// freeAffinity undoes what a program may have done to this thread with
// sched_setaffinity, the one scheduling call the filter cannot refuse without
// breaking thread libraries. The mask is cut down to what the host allows.
func freeAffinity() {
	var all unix.CPUSet
	all.Fill()
	_ = unix.SchedSetaffinity(0, &all) // at worst programs start with a narrower mask
}

func readLink(p string) (string, error) {
	var buf [64]byte
	n, err := unix.Readlink(p, buf[:])
	if err != nil {
		return "", fail("readlink", p, err)
	}
	return string(buf[:n]), nil
}

package pid1

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/internal/fence"
	"github.com/coop-dev/coop/internal/initproto"
	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// setUp makes the sandbox, one step after the other in the order the kernel
// wants them. fds are the descriptors that came with the message.
//
// The thread that will start programs raises its fences meanwhile: they concern
// that thread alone.
func setUp(s initproto.Setup, fds []int) (*fencedThread, []initproto.Missing, error) {
	defer fdpass.CloseAll(fds)
	unix.Umask(0)                         // modes below mean what they say
	if err := dropGroups(s); err != nil { // of all threads, so before there are special ones
		return nil, nil, named("groups", err)
	}
	thread := startFenced(s)
	b := &builder{setup: s, fds: fds, root: -1}
	gone := func(name string) bool { return fence.Gone(s.Without, name) }
	steps := []struct {
		name string
		run  func() error
	}{
		{"close-on-exec", unless(gone(fence.CloseFDs), closeOnExec)},
		{"private mounts", b.private},
		{"attach root", b.attachRoot},
		{"mount proc", b.mountProc}, // before the old root goes: afterwards the kernel says EPERM
		{"mount sys", b.mountSys},   // likewise
		{"mount dev", b.mountDev},
		{"mount tmp", b.mountTmp},
		{"attach mounts", b.attachMounts},
		{"make workspace", b.makeWorkspace},
		{"pivot root", b.pivot},
		{"mask", unless(gone(fence.Mask), b.mask)},
		{"read-only root", b.readonlyRoot},
		{"hostname", b.hostname},
		{"loopback", b.loopback},
		{"dumpable", unless(gone(fence.Dumpable), notDumpable)},
		{"signals", unless(gone(fence.Signals), defaultSignals)},
	}
	for _, step := range steps {
		if err := step.run(); err != nil {
			return nil, nil, named(step.name, err)
		}
	}
	unix.Umask(0o022)
	return thread, b.missing, named("fence programs", thread.wait())
}

// unless leaves a step out whose fence the tests took away.
func unless(gone bool, step func() error) func() error {
	if gone {
		return func() error { return nil }
	}
	return step
}

// named gives an error the step's name unless it carries one of its own.
func named(step string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := err.(*initproto.Error); ok {
		return err
	}
	return fail(step, "", err)
}

// builder carries what the steps share.
type builder struct {
	setup   initproto.Setup
	fds     []int
	root    int // descriptor of the new root directory
	missing []initproto.Missing
}

// fd looks up a descriptor by the index the message gave.
func (b *builder) fd(index int) (int, error) {
	if index < 0 || index >= len(b.fds) {
		return -1, initproto.ErrProtocol
	}
	return b.fds[index], nil
}

// optional turns the failure of a fence that may be missing into a line of
// `degraded`; any other failure stays one.
func (b *builder) optional(fence string, err error) error {
	if err == nil || !slices.Contains(b.setup.Optional, fence) {
		return err
	}
	b.missing = append(b.missing, initproto.Missing{Fence: fence, Reason: err.Error()})
	return nil
}

// dropGroups leaves the host user's supplementary groups behind. With a single
// id the kernel forbids it; the daemon reports that.
func dropGroups(s initproto.Setup) error {
	if !s.Groups {
		return nil
	}
	return setgroupsAllThreads()
}

// makeWorkspace makes the directory of a workspace that is nothing but one.
func (b *builder) makeWorkspace() error {
	if b.setup.Workspace == "" {
		return nil
	}
	fd, err := mountTarget(b.root, b.setup.Workspace, true)
	if err != nil {
		return fail("make workspace", b.setup.Workspace, err)
	}
	return unix.Close(fd)
}

func (b *builder) hostname() error {
	return unix.Sethostname([]byte(b.setup.Hostname))
}

package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/launch/initbin"
	"github.com/coop-dev/coop/internal/linux/cgroup"
	"github.com/coop-dev/coop/internal/linux/fdpass"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/selfproc"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/server"
)

// serve is stage 3.
func serve(o Options, rep reporter) error {
	if err := selfproc.CloseOnExec(3); err != nil {
		return err
	}
	_ = selfproc.SetName(Arg0) // only for people who look
	selfproc.Umask(0o077)
	conf, err := settings(anyOwner)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: logLevel(conf)}))
	pidFile, err := takeLock(o.Home)
	if err != nil {
		return err
	}
	defer pidFile.Close() // which gives the place free
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	d := &daemon{options: o, settings: conf, log: log}
	ctx, d.cancel = context.WithCancelCause(ctx)
	if err := d.open(ctx); err != nil {
		return err
	}
	defer d.close()
	ln, err := listen(o.Home)
	if err != nil {
		return err
	}
	rep.send(nil)
	d.idle.start()
	err = d.server.Serve(ctx, ln)
	log.Info("daemon ends", "err", context.Cause(ctx))
	return err
}

// lockTime is longer than a daemon takes to stop its sandboxes and leave.
const lockTime = 30 * time.Second

// takeLock waits for a daemon that is just ending, then holds daemon.pid.
func takeLock(home string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(home, "daemon.pid"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, explainHome(home, err)
	}
	locked := make(chan error, 1)
	go func() { locked <- selfproc.Lock(f, true) }()
	select {
	case err = <-locked:
	case <-time.After(lockTime):
		return nil, sandbox.Errorf(sandbox.Unavailable, "another daemon holds %s", f.Name()).
			WithHint("end it with coop shutdown")
	}
	if err != nil {
		return nil, os.NewSyscallError("lock daemon.pid", err)
	}
	if err := f.Truncate(0); err != nil {
		return nil, explainHome(home, err)
	}
	_, err = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
	return f, explainHome(home, err)
}

// listen binds daemon.sock. We hold the lock, so one that is there is stale.
func listen(home string) (net.Listener, error) {
	path := socketPath(home)
	_ = os.Remove(path) // not there on a clean start
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, explainHome(home, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		ln.Close()
		return nil, explainHome(home, err)
	}
	return ln, nil
}

// open wires the parts together and recovers.
func (d *daemon) open(ctx context.Context) error {
	uids, gids, err := idmap.Self()
	if err != nil {
		return err
	}
	program, embedded, err := initbin.Open()
	if err != nil {
		return err
	}
	if !embedded {
		d.log.Warn("built without coop-init: sandboxes start slower; use make build")
	}
	d.store, err = d.openStore(ctx)
	if err != nil {
		return err
	}
	d.cgroups, err = cgroup.Open(groupName(d.options.Home))
	if err != nil {
		return err
	}
	if err := d.openImages(uids); err != nil {
		return err
	}
	d.engine = engine.New(engine.Config{
		Images: d.images,
		Home:   d.options.Home, Store: d.store, Log: d.log, Program: program, Cgroups: d.cgroups,
		UIDs: uids, GIDs: gids, Groups: groupsAllowed(), Changed: d.idle.sandboxes,
	})
	d.idle.after = time.Duration(d.settings.IdleExit)
	d.idle.expire = func() { go d.retire(errIdle) }
	found, err := d.engine.Recover(ctx)
	if err != nil {
		return err
	}
	mode := modeOf(uids)
	d.log.Info("daemon serves", "pid", os.Getpid(), "mode", mode, "running", found.Running,
		"stopped", found.Stopped, "unreachable", found.Unreachable, "unfinished", found.Unfinished, "strays", found.Strays)
	d.server = server.New(server.Config{
		Engine: adapter{d.engine, d.settings}, Terminals: d.engine, Images: images{d.images, d.settings}, Bases: adapter{d.engine, d.settings},
		PeerUID: peerUID, Allow: func(uid int) bool { return uid == os.Getuid() },
		HostUID: func(uid int) int { return int(uids.Host(uint32(uid))) },
		Version: api.Version{
			Version: d.options.Build.Version, Commit: d.options.Build.Commit, Go: runtime.Version(), API: "v1",
			PID: os.Getpid(), Mode: mode, Home: d.options.Home, StartedAt: time.Now().UTC(),
		},
		Doctor:   func(ctx context.Context) ([]api.Check, error) { return Checks(ctx, d.options.Home), nil },
		Shutdown: d.shutdown, Activity: d.idle.requests, Log: d.log,
	})
	return nil
}

// groupName keeps daemons of different homes apart in the control groups.
func groupName(home string) string {
	sum := sha256.Sum256([]byte(home))
	return "coop-" + hex.EncodeToString(sum[:4])
}

func modeOf(uids idmap.Map) string {
	switch {
	case uids.Initial():
		return "root"
	case uids.Single():
		return "user-single-id"
	}
	return "user"
}

// groupsAllowed reports whether supplementary groups can be dropped here.
func groupsAllowed() bool {
	b, err := os.ReadFile("/proc/self/setgroups")
	return err == nil && string(b) == "allow\n"
}

func peerUID(c *net.UnixConn) (int, error) {
	rc, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	uid, perr := -1, error(nil)
	if err := rc.Control(func(fd uintptr) { _, uid, perr = fdpass.Peer(int(fd)) }); err != nil {
		return -1, err
	}
	return uid, perr
}

package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/selfproc"
	"github.com/coop-dev/coop/internal/linux/userns"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Arg0 is the name of stage 3.
const Arg0 = "coop-daemon"

// Options of the verb.
type Options struct {
	Home     string
	Detached bool // started for a command: report on descriptor 3 and go into the background
	Build    Build
}

// Build is what this program was made from.
type Build struct{ Version, Commit string }

// Main runs the verb `daemon` from whatever stage this process is.
func Main(o Options) int {
	var rep reporter
	if o.Detached {
		rep.w = os.NewFile(readyFD, "ready")
	}
	err := run(o, rep)
	if err == nil {
		return 0
	}
	rep.send(err)
	fmt.Fprintln(os.Stderr, "coop: "+err.Error())
	var e *sandbox.Error
	if errors.As(err, &e) && e.Hint != "" {
		fmt.Fprintln(os.Stderr, "hint: "+e.Hint)
	}
	return 1
}

func run(o Options, rep reporter) error {
	if os.Args[0] == Arg0 {
		return serve(o, rep)
	}
	if err := makeHome(o.Home); err != nil {
		return err
	}
	if _, err := settings(os.Geteuid()); err != nil {
		return err
	}
	return leave(o)
}

// leave is stage 1: a fresh keyring, then the namespaces.
func leave(o Options) error {
	runtime.LockOSThread()
	if err := selfproc.NewKeyring(); err != nil {
		return err
	}
	uids, _, err := idmap.Self()
	if err != nil {
		return err
	}
	argv := []string{Arg0, "daemon", "--home", o.Home}
	if o.Detached {
		argv = append(argv, "--detached")
	}
	if uids.Initial() && os.Geteuid() == 0 {
		return asRoot(o, argv)
	}
	return asUser(o, argv)
}

// asRoot needs mounts of its own and nothing else.
func asRoot(o Options, argv []string) error {
	if o.Detached {
		if err := selfproc.Inherit(os.NewFile(readyFD, "ready")); err != nil {
			return err
		}
	}
	err := selfproc.PrivateMounts(argv, environ(o.Home))
	return sandbox.Errorf(sandbox.Unavailable, "the daemon cannot have mounts of its own: %w", err).
		WithHint("root without CAP_SYS_ADMIN cannot make sandboxes; run coop as an ordinary user")
}

// asUser goes on in a user namespace.
func asUser(o Options, argv []string) error {
	c := userns.Child{Argv: argv, Env: environ(o.Home), Log: os.Stderr}
	if o.Detached {
		c.Files = []*os.File{os.NewFile(readyFD, "ready")}
	}
	pid, single, err := userns.Enter(c)
	if err != nil {
		return sandbox.Errorf(sandbox.Unavailable, "user namespaces are refused: %w", err).
			WithHint("coop doctor says why and what to do")
	}
	if single != nil {
		slog.Warn("sandboxes have one id only", "err", single)
	}
	if o.Detached {
		return nil
	}
	return follow(pid)
}

// follow stays in the foreground for a daemon that a person started by hand.
func follow(pid int) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	go func() {
		for s := range signals {
			_ = p.Signal(s) // it may have ended
		}
	}()
	st, err := p.Wait()
	if err != nil {
		return err
	}
	if !st.Success() {
		return fmt.Errorf("the daemon ended: %s", st)
	}
	return nil
}

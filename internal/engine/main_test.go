package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/launch/initbin"
	"github.com/coop-dev/coop/internal/linux/cgroup"
	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/memfd"
	"github.com/coop-dev/coop/internal/linux/pidfd"
	"github.com/coop-dev/coop/internal/linux/userns"
	"github.com/coop-dev/coop/internal/pid1"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store/sqlite"
)

// refused is why this process can make no sandboxes, empty when it can.
const refused = "COOP_TEST_REFUSED"

// TestMain also is PID 1 of the sandboxes, and for an ordinary user the way into
// a user namespace, where the tests then run as a daemon would.
func TestMain(m *testing.M) {
	switch os.Args[0] {
	case initbin.Arg0:
		os.Exit(pid1.Main())
	case userns.WaitArg0:
		fmt.Fprintln(os.Stderr, "enter:", userns.Wait(os.Args)) // returns only on error
		os.Exit(1)
	}
	if os.Getuid() != 0 && os.Getenv(refused) == "" {
		code, err := inNamespace()
		if err == nil {
			os.Exit(code)
		}
		_ = os.Setenv(refused, err.Error()) // the tests say it
	}
	if dir := os.Getenv("COOP_TEST_DIR"); dir != "" {
		_ = os.Chdir(dir) // only for relative names of profiles
	}
	code := m.Run()
	if dir, err := images(); err == nil {
		_ = os.RemoveAll(dir) // at worst something stays in the temporary directory
	}
	os.Exit(code)
}

// images is the cache of host images all homes of these tests share: for an
// ordinary user making one takes seconds.
var images = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "coop-test-images-") })

// inNamespace runs this program once more in a user namespace.
func inNamespace() (int, error) {
	dir, err := os.Getwd()
	if err != nil {
		return 0, err
	}
	pid, single, err := userns.Enter(userns.Child{Argv: os.Args, Env: append(os.Environ(), "COOP_TEST_DIR="+dir), Log: os.Stdout})
	if err != nil {
		return 0, err
	}
	if single != nil {
		fmt.Println("one id only:", single)
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)
	go func() {
		for s := range signals {
			_ = syscall.Kill(pid, s.(syscall.Signal)) // it may have ended
		}
	}()
	for {
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err == nil {
			if ws.Signaled() {
				return 128 + int(ws.Signal()), nil
			}
			return ws.ExitStatus(), nil
		} else if !errors.Is(err, syscall.EINTR) {
			return 0, err
		}
	}
}

// self is this program as coop-init, made once: it is large.
var self = sync.OnceValues(func() (*os.File, error) {
	code, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	return memfd.Program(initbin.Arg0, code)
})

// world is a home with an engine.
type world struct {
	*Engine
	t     *testing.T
	home  string
	group string
	logs  *syncBuffer
}

// syncBuffer collects what the engine complains of.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

// forget drops complaints a test has provoked.
func (s *syncBuffer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newWorld makes one. Whatever a test leaves is ended and removed, and that there
// was nothing to complain of is part of every test.
func newWorld(t *testing.T) *world {
	t.Helper()
	if why := os.Getenv(refused); why != "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("needs user namespaces, which CI must have: %s", why)
		}
		t.Skipf("needs user namespaces: %s", why)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cache, err := images()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(cache, filepath.Join(home, "cache")); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: home, group: fmt.Sprintf("coop-test-%d-%d", os.Getpid(), time.Now().UnixNano()), logs: &syncBuffer{}}
	w.open()
	t.Cleanup(w.clear)
	return w
}

// open starts the engine of a daemon. It does not recover.
func (w *world) open() {
	w.t.Helper()
	program, err := self()
	if err != nil {
		w.t.Fatal(err)
	}
	uids, gids, err := idmap.Self()
	if err != nil {
		w.t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelError}))
	db, err := sqlite.Open(context.Background(), filepath.Join(w.home, "coop.db"), sqlite.Options{Logger: log})
	if err != nil {
		w.t.Fatal(err)
	}
	groups, err := cgroup.Open(w.group)
	if err != nil {
		w.t.Fatal(err)
	}
	allow, err := os.ReadFile("/proc/self/setgroups")
	w.Engine = New(Config{
		Home: w.home, Store: db, Log: log, Program: program, Cgroups: groups,
		UIDs: uids, GIDs: gids, Groups: err == nil && string(allow) == "allow\n",
	})
}

// leave lets go as a daemon that ends; sandboxes go on.
func (w *world) leave() {
	w.t.Helper()
	w.Engine.Close()
	if err := errors.Join(w.Store.Close(), w.Cgroups.Close()); err != nil {
		w.t.Error(err)
	}
}

// again is a new daemon on the same home.
func (w *world) again() Found {
	w.t.Helper()
	w.leave()
	w.open()
	found, err := w.Recover(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// clear removes every sandbox a test left and looks for what is left then.
func (w *world) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	page, err := w.List(ctx, Filter{Limit: 1000})
	if err != nil {
		w.t.Error(err)
	}
	for _, v := range page.Views {
		if err := w.Delete(ctx, string(v.ID), "test"); err != nil {
			w.t.Error(err)
		}
	}
	w.nothingLeft()
	w.leave()
	if said := w.logs.String(); said != "" {
		w.t.Errorf("the engine complained:\n%s", said)
	}
}

// nothingLeft: no directory, no control group, no process.
func (w *world) nothingLeft() {
	w.t.Helper()
	left, err := os.ReadDir(filepath.Join(w.home, "sandboxes"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Error(err)
	}
	for _, d := range left {
		w.t.Errorf("directory %s is left", d.Name())
	}
	groups, err := w.Cgroups.Orphans(func(string) bool { return false })
	if err != nil {
		w.t.Error(err)
	}
	for _, g := range groups {
		w.t.Errorf("control group %s is left", g.ID)
	}
	if n := w.Running(); n != 0 {
		w.t.Errorf("%d sandboxes run", n)
	}
}

// make makes a sandbox.
func (w *world) make(spec sandbox.Spec) View {
	w.t.Helper()
	v, replayed, err := w.Create(w.t.Context(), spec, CreateOptions{Actor: "test"})
	if err != nil {
		w.t.Fatal(err)
	}
	if replayed || v.Status != sandbox.Running || v.PID == 0 || !alive(v.PID) {
		w.t.Fatalf("%+v", v)
	}
	return v
}

// alive reports whether a process runs; one that has ended and was not
// collected does not.
func alive(pid int) bool {
	p, err := pidfd.Open(pid)
	if err != nil {
		return false
	}
	defer p.Close()
	return p.Alive()
}

// run runs a shell command to its end.
func (w *world) run(ref, script string) (Outcome, string) {
	w.t.Helper()
	return w.exec(ref, Command{Command: script})
}

func (w *world) exec(ref string, c Command) (Outcome, string) {
	w.t.Helper()
	x, err := w.Exec(w.t.Context(), ref, c)
	if err != nil {
		w.t.Fatal(err)
	}
	said, err := io.ReadAll(x.Stdout())
	if err != nil {
		w.t.Error(err)
	}
	complained, err := io.ReadAll(x.Stderr())
	if err != nil {
		w.t.Error(err)
	}
	out, err := x.Wait(w.t.Context())
	if err != nil {
		w.t.Error(err)
	}
	if _, err := x.Finish(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	return out, strings.TrimSpace(string(said) + string(complained))
}

// project is a host directory with a file in it.
func project(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("original\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func needProgram(t *testing.T, name string) string {
	t.Helper()
	p, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("needs the program %s", name)
	}
	return p
}

package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coop-dev/coop/internal/linux/selfproc"
	"github.com/coop-dev/coop/internal/sandbox"
)

// readyFD is where a daemon that was started for a command reports.
const readyFD = 3

// report is the one line a starting daemon writes: Error is nil when it serves.
type report struct {
	Code    sandbox.Code `json:"code,omitempty"`
	Message string       `json:"message,omitempty"`
	Hint    string       `json:"hint,omitempty"`
}

// startTime bounds the waiting; recovery of hundreds of sandboxes takes less.
const startTime = 60 * time.Second

// Start sees to it that a daemon for home answers. However many commands call
// it at once, a lock lets one of them start it and the others find it.
func Start(ctx context.Context, home string) error {
	if err := makeHome(home); err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(home, "daemon.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return explainHome(home, err)
	}
	defer lock.Close() // which also unlocks
	if err := selfproc.Lock(lock, true); err != nil {
		return os.NewSyscallError("lock daemon.lock", err)
	}
	if answers(home) {
		return nil
	}
	return spawn(ctx, home)
}

// answers reports whether somebody listens.
func answers(home string) bool {
	c, err := net.Dial("unix", socketPath(home))
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// spawn starts the daemon in a session of its own and waits for its report.
func spawn(ctx context.Context, home string) error {
	log, err := openLog(home)
	if err != nil {
		return err
	}
	defer log.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	p, err := os.StartProcess(program(), []string{"coop", "daemon", "--detached", "--home", home}, &os.ProcAttr{
		Dir: "/", Env: environ(home), Files: []*os.File{null, log, log, w},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	w.Close()
	if err != nil {
		return err
	}
	go func() { _, _ = p.Wait() }() // stage 1 ends at once; we may end before it
	return await(ctx, r, home)
}

// program is this one, or what has replaced it on disk since: a command that
// was started before an upgrade must not bring the old daemon back.
func program() string {
	const self = "/proc/self/exe"
	path, err := os.Readlink(self)
	if err != nil {
		return self
	}
	if path, replaced := strings.CutSuffix(path, " (deleted)"); replaced { // proc_pid_exe(5)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return self
}

// environ is what a daemon may know of the environment it was started from.
// Values for sandboxes travel with requests.
func environ(home string) []string {
	env := []string{"COOP_HOME=" + home, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, k := range append([]string{"HOME", "XDG_CONFIG_HOME", "COOP_LOG"}, registryEnv()...) {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// await reads the report.
func await(ctx context.Context, r *os.File, home string) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = r.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := bufio.NewReader(r).ReadBytes('\n')
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return sandbox.Errorf(sandbox.Unavailable, "the daemon did not start: %w", err).
			WithHint("see %s and coop doctor", filepath.Join(home, "daemon.log"))
	}
	var rep report
	if err := json.Unmarshal(line, &rep); err != nil {
		return err
	}
	if rep.Code == "" {
		return nil
	}
	return &sandbox.Error{Code: rep.Code, Message: rep.Message, Hint: rep.Hint}
}

// reporter tells the command that started us how it went. It may have gone.
type reporter struct{ w *os.File }

func (r reporter) send(err error) {
	if r.w == nil {
		return
	}
	var rep report
	if err != nil {
		rep = report{Code: sandbox.CodeOf(err), Message: err.Error()}
		var e *sandbox.Error
		if errors.As(err, &e) {
			rep.Hint = e.Hint
		}
	}
	b, _ := json.Marshal(rep)         // three strings always marshal
	_, _ = r.w.Write(append(b, '\n')) // nobody may be listening any more
	_ = r.w.Close()
}

// socketPath is daemon.sock; one too long for a unix address is reached through
// a descriptor of its directory.
func socketPath(home string) string {
	p := filepath.Join(home, "daemon.sock")
	if len(p) <= 107 {
		return p
	}
	dir, err := os.Open(home) // left open: the path leads through it for our lifetime
	if err != nil {
		return p
	}
	return "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/daemon.sock"
}

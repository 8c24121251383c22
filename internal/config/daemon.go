package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/coop-dev/coop/api"
)

// Daemon is daemon.toml: what the daemon of a person is like, whatever the
// project.
type Daemon struct {
	Listen        string
	Store         string
	IdleExit      api.Duration // 0: never
	LogLevel      string
	AllowedImages []string // empty: all
	Default       api.Limits
	Maximum       api.Limits
	Pool          map[string]int64

	root *node
}

// DaemonDefaults is a Daemon without a file.
func DaemonDefaults() Daemon {
	return Daemon{Store: "sqlite", IdleExit: api.Duration(30 * time.Second), LogLevel: "info"}
}

func daemonKeys() []key[Daemon] {
	return []key[Daemon]{
		{"listen", func(d *Daemon) any { return &d.Listen }, checkListen, false, "HOST:PORT to serve web UI and API on; without it only the unix socket"},
		{"store", func(d *Daemon) any { return &d.Store }, checkStore, false, "`sqlite`; a `postgres://` URL is not there yet"},
		{"idle_exit", func(d *Daemon) any { return &d.IdleExit }, nil, false, "leave after this long without a running sandbox; `\"0\"` is never"},
		{"log_level", func(d *Daemon) any { return &d.LogLevel }, oneOf("debug", "info", "warn", "error"), false, "of `daemon.log`; `COOP_LOG` has precedence"},
		{"allowed_images", func(d *Daemon) any { return &d.AllowedImages }, checkImagePattern, false, "patterns such as `debian:*`; without it all images are allowed"},

		{"limits.default.cpu", func(d *Daemon) any { return &d.Default.CPU }, atLeast(0.01), false, "processors of a sandbox that asks for no limit"},
		{"limits.default.memory", func(d *Daemon) any { return &d.Default.Memory }, atLeast(8 << 20), false, "its memory"},
		{"limits.default.pids", func(d *Daemon) any { return &d.Default.PIDs }, between(16, 1<<22), false, "its processes and threads"},
		{"limits.default.disk", func(d *Daemon) any { return &d.Default.Disk }, nil, false, "what it may write"},
		{"limits.default.exec_timeout", func(d *Daemon) any { return &d.Default.ExecTimeout }, nil, false, "how long one of its commands may take"},
		{"limits.maximum.cpu", func(d *Daemon) any { return &d.Maximum.CPU }, atLeast(0.01), false, "the most processors a sandbox may ask for, and what it has without asking"},
		{"limits.maximum.memory", func(d *Daemon) any { return &d.Maximum.Memory }, atLeast(8 << 20), false, "the most memory"},
		{"limits.maximum.pids", func(d *Daemon) any { return &d.Maximum.PIDs }, between(16, 1<<22), false, "the most processes and threads"},
		{"limits.maximum.disk", func(d *Daemon) any { return &d.Maximum.Disk }, nil, false, "the most it may write"},
		{"limits.maximum.exec_timeout", func(d *Daemon) any { return &d.Maximum.ExecTimeout }, nil, false, "the longest a command may take"},

		{"pool", func(d *Daemon) any { return &d.Pool }, between(0, 1024), false, "how many sandboxes to make ahead of need, by image: `\"debian:12\" = 2`"},
	}
}

// LoadDaemon reads daemon.toml of a directory. A file that belongs neither to
// uid nor to root is refused; with a negative uid nobody is asked, for a daemon
// that is in a user namespace already, where it cannot tell.
func LoadDaemon(dir string, uid int) (Daemon, error) {
	d := DaemonDefaults()
	name := filepath.Join(dir, "daemon.toml")
	data, err := readSettings(name, uid)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return d, nil
	case err != nil:
		return d, unreadable(name, err)
	}
	root, problem := parse(&source{name: name, dir: dir}, data)
	if problem != nil {
		return d, &Error{api.CodeInvalid, []Problem{*problem}}
	}
	var ps problems
	decode(daemonKeys(), root, &d, &ps)
	d.root = root
	if len(ps.list) == 0 {
		d.checkBounds(&ps)
	}
	if err := ps.err(); err != nil {
		return d, err
	}
	return d, d.supported()
}

func readSettings(name string, uid int) ([]byte, error) {
	if uid < 0 {
		return readAny(name)
	}
	return readOwned(name, uid)
}

// checkBounds refuses a default that nobody could be given.
func (d *Daemon) checkBounds(ps *problems) {
	for _, b := range []struct {
		name          string
		value, utmost float64
	}{
		{"cpu", d.Default.CPU, d.Maximum.CPU},
		{"memory", float64(d.Default.Memory), float64(d.Maximum.Memory)},
		{"pids", float64(d.Default.PIDs), float64(d.Maximum.PIDs)},
		{"disk", float64(d.Default.Disk), float64(d.Maximum.Disk)},
		{"exec_timeout", float64(d.Default.ExecTimeout), float64(d.Maximum.ExecTimeout)},
	} {
		if b.utmost > 0 && b.value > b.utmost {
			ps.add(d.root.find("limits.default."+b.name).value, "limits.default.%s is more than limits.maximum.%s", b.name, b.name)
		}
	}
}

// supported names the settings whose feature is not there yet.
func (d *Daemon) supported() error {
	var ps problems
	for _, l := range []struct {
		key  string
		asks bool
	}{
		{"listen", d.Listen != ""},
		{"store", d.Store != "sqlite"},
		{"pool", len(d.Pool) > 0},
		{"limits.default.disk", d.Default.Disk > 0},
		{"limits.maximum.disk", d.Maximum.Disk > 0},
	} {
		if l.asks {
			ps.add(d.root.find(l.key).value, "%s is not there yet", l.key).Hint = laterHint
		}
	}
	return ps.coded(api.CodeUnsupported)
}

// Level is log_level for a logger.
func (d Daemon) Level() slog.Level {
	var l slog.Level
	_ = l.UnmarshalText([]byte(d.LogLevel)) // checked when it was read
	return l
}

func checkListen(v any) error {
	s, _ := v.(string)
	if s == "" {
		return nil
	}
	if _, port, err := net.SplitHostPort(s); err != nil || !isNumber(port) || len(port) > 5 {
		return withHint("such as 127.0.0.1:15427", "%q is not HOST:PORT", s)
	}
	return nil
}

// checkStore does not repeat a URL, which may hold a password.
func checkStore(v any) error {
	s, _ := v.(string)
	if s == "sqlite" || strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://") {
		return nil
	}
	return withHint(`"sqlite" or "postgres://…"`, "is neither sqlite nor a PostgreSQL URL")
}

func checkImagePattern(v any) error {
	s, _ := v.(string)
	if !word(s) {
		return fmt.Errorf("%q is not a pattern of images", s)
	}
	return nil
}

// ImageAllowed reports whether a pattern of allowed_images fits. A * stands for
// anything, slashes included: "ghcr.io/me/*" is a whole registry's corner.
func (d Daemon) ImageAllowed(image string) bool {
	if len(d.AllowedImages) == 0 {
		return true
	}
	for _, p := range d.AllowedImages {
		if fits(p, image) {
			return true
		}
	}
	return false
}

func fits(pattern, s string) bool {
	head, tail, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	rest, ok := strings.CutPrefix(s, head)
	if !ok {
		return false
	}
	for i := 0; i <= len(rest); i++ {
		if fits(tail, rest[i:]) {
			return true
		}
	}
	return false
}

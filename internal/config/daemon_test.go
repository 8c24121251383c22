package config

import (
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/coop-dev/coop/api"
)

func TestDaemonFile(t *testing.T) {
	dir := t.TempDir()
	if d, err := LoadDaemon(dir, -1); err != nil || !cmp.Equal(d, DaemonDefaults(), cmpopts.IgnoreUnexported(Daemon{})) {
		t.Errorf("%+v %v", d, err)
	}
	write(t, dir, map[string]string{"daemon.toml": `
listen = ""
store = "sqlite"
idle_exit = "5m"
log_level = "debug"
allowed_images = ["host", "debian:*"]
[limits.default]
memory = "1GiB"
exec_timeout = "1m"
[limits.maximum]
cpu = 2
memory = "4GiB"
pids = 100
[pool]
`})
	got, err := LoadDaemon(dir, -1)
	want := Daemon{
		Store: "sqlite", IdleExit: api.Duration(5 * time.Minute), LogLevel: "debug", AllowedImages: []string{"host", "debian:*"},
		Default: api.Limits{Memory: 1 << 30, ExecTimeout: api.Duration(time.Minute)},
		Maximum: api.Limits{CPU: 2, Memory: 4 << 30, PIDs: 100}, Pool: map[string]int64{},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Daemon{})); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if got.Level() != slog.LevelDebug {
		t.Error(got.Level())
	}
}

func TestDaemonErrors(t *testing.T) {
	for text, want := range map[string]string{
		"idle_exti = \"1s\"\n":                       `1:1: unknown key "idle_exti"`,
		"[limits]\nmemory = 1\n":                     `2:1: unknown key "limits.memory"`,
		"[limits.max]\ncpu = 1\n":                    `1:9: unknown key "limits.max"`,
		"idle_exit = 30\n":                           "1:13: idle_exit must be a duration, not a whole number",
		"log_level = \"loud\"\n":                     `1:13: log_level: unknown value "loud"`,
		"store = \"mysql://user:secret@h/d\"\n":      "1:9: store: is neither sqlite nor a PostgreSQL URL",
		"listen = \"8080\"\n":                        `1:10: listen: "8080" is not HOST:PORT`,
		"allowed_images = [\"a b\"]\n":               `1:19: allowed_images[0]: "a b" is not a pattern of images`,
		"[pool]\n\"debian:12\" = \"two\"\n":          "2:15: pool.debian:12 must be a whole number, not a string",
		"[pool]\nhost = -1\n":                        "2:8: pool.host: -1 is not between 0 and 1024",
		"limits = {default={cpu=4},maximum={cpu=2}}": "1:24: limits.default.cpu is more than limits.maximum.cpu",
		"listen = \"127.0.0.1:1\"\n":                 "1:10: listen is not there yet",
		"store = \"postgres://u:secret@h/d\"\n":      "1:9: store is not there yet",
		"[pool]\nhost = 2\n":                         "1:2: pool is not there yet",
		"[limits.maximum]\ndisk = \"1GiB\"\n":        "2:8: limits.maximum.disk is not there yet",
	} {
		dir := t.TempDir()
		write(t, dir, map[string]string{"daemon.toml": text})
		_, err := LoadDaemon(dir, -1)
		if err == nil || err.Error() != filepath.Join(dir, "daemon.toml")+":"+want {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Error("a password in a message")
		}
		var failure *Error
		if strings.HasSuffix(want, "yet") && (!errors.As(err, &failure) || failure.Code != api.CodeUnsupported) {
			t.Errorf("%T", err)
		}
	}
}

func TestImageAllowed(t *testing.T) {
	d := Daemon{AllowedImages: []string{"host", "debian:*", "ghcr.io/me/*", "*/x:1"}}
	for image, want := range map[string]bool{
		"host": true, "debian:12": true, "debian:": true, "ghcr.io/me/a/b:1": true, "a/b/x:1": true,
		"hosts": false, "debian": false, "xdebian:12": false, "ghcr.io/you/a": false, "x:1": false, "": false,
	} {
		if d.ImageAllowed(image) != want {
			t.Errorf("%q", image)
		}
	}
	if !(Daemon{}).ImageAllowed("anything") {
		t.Error("no list allows all")
	}
}

package escape

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/coop-dev/coop/test/harness"
)

func environment() attack {
	return attack{
		Class: ipcClass, Name: "environment",
		Attack: "find tokens and sockets in the environment, of a daemon that was started with them",
		Proves: "nothing of the daemon's or the caller's environment is passed on",
		Host: func(t *testing.T, b *box) {
			b.home = harness.Private(t)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			start := b.home.Command(ctx, "ls")
			start.Env = append(start.Env, secretVariables()...)
			if out, err := start.CombinedOutput(); err != nil {
				t.Fatalf("start the daemon: %v: %s", err, out)
			}
		},
		Run:   findSecret,
		Child: findSecret,
		Control: func() error {
			v, err := again(nil, "/proc/self/exe", "SSH_AUTH_SOCK="+secretValue)
			if err != nil {
				return err
			}
			return v.worked()
		},
		Denied: errnos(unix.ENODATA),
		Fixed:  "a program's environment is made from the sandbox's record",
	}
}

const secretValue = "coop-escape-secret"

func secretVariables() []string {
	var list []string
	for _, k := range []string{
		"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "DOCKER_HOST", "XDG_RUNTIME_DIR",
		"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "ANTHROPIC_API_KEY", "COOP_TOKEN", "TMUX", "GPG_AGENT_INFO",
	} {
		list = append(list, k+"="+secretValue)
	}
	return list
}

// findSecret looks at the own environment, as it was given, and at PID 1's.
func findSecret() error {
	own, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return err
	}
	first, _ := os.ReadFile("/proc/1/environ") // refused, as pid1-look shows
	if strings.Contains(string(own)+string(first), secretValue) {
		return nil
	}
	return nothing("no secret in %d bytes of environment", len(own))
}

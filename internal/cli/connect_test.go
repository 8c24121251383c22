package cli

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWhichVerbsStartTheDaemon(t *testing.T) {
	for verb, want := range map[string]int{
		"run -- x": 1, "create": 1, "exec x -- y": 1, "ls": 1, "inspect x": 1, "stop x": 1, "start x": 1, "rm x": 1, "ps x": 1,
		"status": 0, "shutdown": 0, "version": 0, "doctor": 0, "__complete inspect ": 0,
	} {
		t.Run(verb, func(t *testing.T) {
			w := unstarted(t)
			args := strings.Fields(verb)
			if strings.HasSuffix(verb, " ") {
				args = append(args, "")
			}
			w.coop(args...)
			if w.starts != want {
				t.Errorf("started %d times, want %d", w.starts, want)
			}
		})
	}
}

func TestStaleSocketStartsTheDaemon(t *testing.T) {
	w := unstarted(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: w.daemon.Socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	start := w.hooks.StartDaemon
	w.hooks.StartDaemon = func(ctx context.Context, home string) error {
		os.Remove(w.daemon.Socket)
		return start(ctx, home)
	}
	w.want(t, 0, "NAME  ID  STATUS  WORKSPACE  MODE  AGE\n", "", "ls")
	w.want(t, 0, "", "", "-q", "ls")
}

func TestHostAndToken(t *testing.T) {
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.daemon.Serve(t, l)
	t.Setenv("COOP_HOME", "/nonexistent")
	t.Setenv("COOP_HOST", "http://"+l.Addr().String())
	t.Setenv("COOP_TOKEN", "from-env")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.want(t, 0, "4711\n", "", "status", "-q")
	w.want(t, 0, "4711\n", "", "status", "-q", "--token-file", file)
	if got := w.daemon.Authorizations(); !slices.Contains(got, "Bearer from-env") || !slices.Contains(got, "Bearer from-file") {
		t.Errorf("%q", got)
	}
	w.want(t, 0, "4711\n", "", "status", "-q", "--host", "unix://"+w.daemon.Socket)
	status, _, _ := w.coop("ls", "--host", "unix:///nonexistent/s")
	if status != 4 || w.starts != 0 {
		t.Errorf("another daemon: %d, %d starts", status, w.starts)
	}
}

func TestCompletion(t *testing.T) {
	w := newWorld(t)
	w.daemon.Add(sandboxNamed("alpha"))
	w.daemon.Add(sandboxNamed("beta"))
	for _, args := range [][]string{{"rm", "al"}, {"inspect", "al"}, {"ls", "-s", "al"}, {"rm", "beta", "al"}} {
		_, stdout, _ := w.coop(append([]string{"__complete"}, args...)...)
		if names, _, _ := strings.Cut(stdout, ":"); names != "alpha\n" {
			t.Errorf("%q: %q", args, stdout)
		}
	}
	if status, stdout, _ := w.coop("completion", "bash"); status != 0 || !strings.Contains(stdout, "coop") {
		t.Errorf("%d %q", status, stdout)
	}
}

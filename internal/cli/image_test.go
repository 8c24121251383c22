package cli

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/cli/fakedaemon"
)

func TestImageVerbs(t *testing.T) {
	w := newWorld(t)
	w.daemon.Events = []api.ImageEvent{
		{Layer: "sha256:aaaaaaaaaaaaaaaa", Status: "waiting", Total: 2048},
		{Layer: "sha256:aaaaaaaaaaaaaaaa", Status: "downloading", Done: 5, Total: 2048},
		{Layer: "sha256:aaaaaaaaaaaaaaaa", Status: "done", Total: 2048},
		{Layer: "sha256:\x1b]0;x", Status: "here", Total: 1 << 30},
	}
	w.daemon.Settle()
	const digest = "sha256:0123456789abcdef\n"
	w.want(t, 0, digest, "coop: pulling debian:12\ncoop: layer aaaaaaaaaaaa 2KiB: done\ncoop: layer \\x1b]0;x 1GiB: here\n", "image", "pull", "debian:12")
	w.want(t, 0, digest, "", "-q", "image", "pull", "debian:12")
	w.want(t, 0, digest, "", "-q", "image", "import", "/some/file.tar")
	w.want(t, 0, "docker.io/library/debian:12\nsha256:0123456789abcdef\n", "coop: 10MiB freed\n", "image", "rm", "debian:12")
	w.want(t, 0, "docker.io/library/debian:12\nsha256:0123456789abcdef\n", "", "-q", "image", "prune", "-a")
	if status, out, _ := w.coop("image", "ls"); status != 0 || !strings.Contains(out, "docker.io/library/debian:12  0123456789ab  3MiB  10MiB  1       1") {
		t.Errorf("%d %q", status, out)
	}
	w.want(t, 0, digest, "", "-q", "image", "ls")
	if status, out, _ := w.coop("image", "inspect", "debian:12"); status != 0 || !strings.Contains(out, `"digest": "sha256:0123456789abcdef"`) {
		t.Errorf("%d %q", status, out)
	}
}

// missingUntilPulled makes creates fail for want of an image until one is
// fetched.
func missingUntilPulled(w *world) {
	var pulled atomic.Bool
	w.daemon.Fail = func(method, path string) *api.Error {
		if method == "POST" && strings.HasPrefix(path, "/images/") {
			pulled.Store(true)
		}
		if method == "POST" && path == "/sandboxes" && !pulled.Load() {
			return &api.Error{Code: api.CodeNotFound, Message: "image x is not here", Hint: "coop image pull x", Details: map[string]any{"image": "x"}}
		}
		return nil
	}
	w.daemon.Settle()
}

func TestCreatePullsWhatIsMissing(t *testing.T) {
	for line, want := range map[string]string{
		"create --mode none --image x":               "POST /images/pull",
		"create --mode none --image tar:/x.tar":      "POST /images/import",
		"create --mode none --image x --pull never":  "",
		"create --mode none --image x --pull always": "POST /images/pull",
	} {
		w := newWorld(t)
		missingUntilPulled(w)
		status, _, stderr := w.coop(strings.Fields(line)...)
		if want == "" {
			if status != 3 || w.sent("POST /images/pull") || !strings.Contains(stderr, "hint: coop image pull x") {
				t.Errorf("%s: %d %q", line, status, stderr)
			}
			continue
		}
		if status != 0 || !w.sent(want) {
			t.Errorf("%s: %d %q %v", line, status, stderr, w.daemon.Requests())
		}
	}
	w := newWorld(t)
	w.want(t, 2, "", "coop: --pull often is not known\nhint: one of missing, always, never\n", "create", "--mode", "none", "--image", "x", "--pull", "often")
}

// TestRunTheImagesCommand: without a command of its own run takes the image's.
func TestRunTheImagesCommand(t *testing.T) {
	w := newWorld(t)
	w.daemon.Agent = api.Agent{Command: "/entry", Args: []string{"-x"}}
	var got api.ExecRequest
	w.daemon.Command = func(s *fakedaemon.Session) { got = s.Request; s.Exit(0) }
	w.daemon.Settle()
	if status, _, stderr := w.coop("run", "--mode", "none", "--image", "x"); status != 0 || got.Command != "/entry" || (*got.Args)[0] != "-x" {
		t.Errorf("%d %q %+v", status, stderr, got)
	}
	if status, _, _ := w.coop("run", "--mode", "none"); status != 2 {
		t.Errorf("%d", status)
	}
	w.daemon.Agent = api.Agent{}
	w.daemon.Settle()
	if status, _, stderr := w.coop("run", "--mode", "none", "--image", "x"); status != 2 || !strings.Contains(stderr, "names no command") || !w.sent("DELETE /sandboxes/id0002") {
		t.Errorf("%d %q %v", status, stderr, w.daemon.Requests())
	}
}

func TestProgressBars(t *testing.T) {
	var b bytes.Buffer
	p := &progress{out: &b, bars: true, width: 80, height: 10, layers: map[string]api.ImageEvent{}}
	for i := range 20 {
		layer := "sha256:" + strings.Repeat(string(rune('a'+i)), 12)
		p.event(api.ImageEvent{Layer: layer, Status: "waiting", Total: 1000})
		p.event(api.ImageEvent{Layer: layer, Status: "downloading", Done: 500, Total: 1000})
	}
	p.event(api.ImageEvent{Layer: "sha256:x", Status: "downloading", Done: 5000, Total: -3}) // nonsense must not panic
	p.event(api.ImageEvent{Layer: "sha256:\x1b[2J", Status: "\x1b[2J", Done: 1 << 62, Total: 1})
	p.finish()
	for line := range strings.Lines(b.String()) {
		plain := line
		for strings.Contains(plain, "\x1b[") { // our own, at the beginning
			_, rest, _ := strings.Cut(plain, "\x1b[")
			plain = strings.TrimLeft(rest, "0123456789")[1:]
		}
		if len(plain) > 80 {
			t.Errorf("a line of %d columns: %q", len(plain), line)
		}
	}
	if strings.Contains(b.String(), "\x1b[2J") {
		t.Error("what came from outside was not escaped")
	}
	if !strings.Contains(b.String(), "[===============                 ]") && !strings.Contains(b.String(), "500B/1000B") {
		t.Errorf("%q", b.String()[:200])
	}
}

func TestBytesShown(t *testing.T) {
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1KiB", 1536: "1.5KiB", 1 << 20: "1MiB", 1023 << 20: "0.999GiB", 5 << 30: "5GiB", 1 << 50: "1.02e+03TiB"} {
		if got := bytesShown(n); got != want {
			t.Errorf("%d: %s, not %s", n, got, want)
		}
	}
}

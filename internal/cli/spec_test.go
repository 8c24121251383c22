package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/coop-dev/coop/api"
)

func TestCreateFlags(t *testing.T) {
	w := newWorld(t)
	cwd, err := workingDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEY", "secret=1")
	here := &api.Workspace{Source: cwd, Mode: "overlay"}
	for line, want := range map[string]api.CreateRequest{
		"":                                     {Workspace: here},
		"--name n --image i":                   {Workspace: here, Name: "n", Image: "i"},
		"--mode none":                          {Workspace: &api.Workspace{Mode: "none"}},
		"--mode bind":                          {Workspace: &api.Workspace{Source: cwd, Mode: "bind"}},
		"--mode volume --workspace v":          {Workspace: &api.Workspace{Source: "v", Mode: "volume"}},
		"--mode clone --workspace https://h/r": {Workspace: &api.Workspace{Source: "https://h/r", Mode: "clone"}},
		"--workspace ..":                       {Workspace: &api.Workspace{Source: filepath.Dir(cwd), Mode: "overlay"}},
		"--network none":                       {Workspace: here, Network: &api.Network{Mode: "none"}},
		"--cpu 1.5 --memory 1GiB --pids 9 --disk 5k": {Workspace: here, Limits: &api.Limits{CPU: 1.5, Memory: 1 << 30, PIDs: 9, Disk: 5 << 10}},
		"--ttl 24h":                      {Workspace: here, TTL: api.Duration(24 * time.Hour)},
		"-e A=b=c,d --env KEY -e E=":     {Workspace: here, Env: map[string]string{"A": "b=c,d", "KEY": "secret=1", "E": ""}},
		"--label a=b":                    {Workspace: here, Labels: map[string]string{"a": "b"}},
		"--mount x:/x --mount /y:/y:rw":  {Workspace: here, Mounts: []api.Mount{{Source: filepath.Join(cwd, "x"), Target: "/x"}, {Source: "/y", Target: "/y", Write: true}}},
		"--volume v:/v --volume r:/r:ro": {Workspace: here, Mounts: []api.Mount{{Source: "v", Target: "/v", Write: true}, {Source: "r", Target: "/r"}}},
		"--seccomp strict --read-only-root --optional limits": {Workspace: here, Security: &api.Security{Seccomp: "strict", ReadonlyRoot: true, Optional: []string{"limits"}}},
		"--driver copy -u 1000:1000":                          {Workspace: here, Driver: "copy", Agent: &api.Agent{User: "1000:1000"}},
	} {
		status, stdout, stderr := w.coop(append([]string{"create"}, strings.Fields(line)...)...)
		if status != 0 || !strings.HasPrefix(stdout, "id") || stderr != "" {
			t.Errorf("%s: %d %q %q", line, status, stdout, stderr)
			continue
		}
		all := w.daemon.Creates()
		if diff := cmp.Diff(want, all[len(all)-1]); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
	for _, key := range w.daemon.Keys() {
		if key == "" {
			t.Error("a create without an idempotency key")
		}
	}
}

func TestCreateOfNoDirectory(t *testing.T) {
	w := newWorld(t)
	w.want(t, 2, "", "coop: workspace nowhere: no such file or directory\n"+
		"hint: name a directory that exists, or use --mode none for a sandbox without a project\n", "create", "--workspace", "nowhere")
}

func TestCreateInARemovedDirectory(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := w.coop("create")
	if status != 1 || !strings.HasPrefix(stderr, "coop: ") {
		t.Errorf("%d %q", status, stderr)
	}
}

func TestCreateWarnsOfMissingFences(t *testing.T) {
	w := newWorld(t)
	w.daemon.Degraded = []api.Degraded{{Fence: "limits", Reason: "no cgroups"}, {Fence: "net", Reason: "\x1b"}}
	w.want(t, 0, "id0001\n", "coop: warning: degraded: limits: no cgroups\ncoop: warning: degraded: net: \\x1b\n", "create")
	w.want(t, 0, "id0002\n", "", "create", "-q")
}

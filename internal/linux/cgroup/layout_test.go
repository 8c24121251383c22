package cgroup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeHost writes a proc and a cgroup tree. In texts ROOT stands for its directory;
// files maps a path below it to its content, and a name that ends in / is a directory.
func fakeHost(t *testing.T, membership, mountinfo string, files map[string]string) (string, layout) {
	t.Helper()
	root := t.TempDir()
	files["proc/self/cgroup"] = membership
	files["proc/self/mountinfo"] = strings.ReplaceAll(mountinfo, "ROOT", root)
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, err := readLayout(filepath.Join(root, "proc"))
	if err != nil {
		t.Fatal(err)
	}
	return root, l
}

const v2Mount = "30 24 0:26 / ROOT/cg rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"

// scope is the group of a systemd user scope with what its control files say.
func scope(path, controllers, handed, procs string) map[string]string {
	return map[string]string{
		path + "/cgroup.controllers":     controllers,
		path + "/cgroup.subtree_control": handed,
		path + "/cgroup.procs":           procs,
		path + "/cgroup.type":            "domain\n",
		"cg/cgroup.controllers":          "cpuset cpu io memory pids\n",
		"cg/cgroup.subtree_control":      "cpuset cpu io memory\n",
		"cg/cgroup.procs":                "1\n99\n",
		"cg/cgroup.type":                 "domain\n",
	}
}

func TestUnifiedDelegatedScope(t *testing.T) {
	root, l := fakeHost(t, "0::/user.slice/coop.scope\n", v2Mount,
		scope("cg/user.slice/coop.scope", "cpu memory pids\n", "", "77\n"))
	p := survey(l, "coop", 77)
	if p.layout != Unified || len(p.missing) != 0 {
		t.Fatalf("layout %s, missing %v, reason %q", p.layout, p.missing, p.reason)
	}
	if p.unified.path != filepath.Join(root, "cg/user.slice/coop.scope") || !p.unified.leave || len(p.unified.enable) != 3 {
		t.Errorf("place %+v", p.unified)
	}
}

func TestUnifiedSharedScopeWithholdsControllers(t *testing.T) {
	_, l := fakeHost(t, "0::/user.slice/session-3.scope\n", v2Mount,
		scope("cg/user.slice/session-3.scope", "cpu memory pids\n", "", "77\n78\n"))
	h := survey(l, "coop", 77).host()
	// The top of this tree hands down cpu and memory but is as shared for pids.
	if h.Layout != Unified || !strings.Contains(h.Missing[PIDs], "other processes") {
		t.Errorf("host %+v", h)
	}
	if !strings.Contains(h.Hint, "Delegate=yes") {
		t.Errorf("hint %q", h.Hint)
	}
}

func TestUnifiedControllerNotDelegated(t *testing.T) {
	files := scope("cg/user.slice/coop.scope", "memory pids\n", "memory pids\n", "77\n")
	files["cg/cgroup.controllers"] = "memory pids\n"
	_, l := fakeHost(t, "0::/user.slice/coop.scope\n", v2Mount, files)
	p := survey(l, "coop", 77)
	if len(p.missing) != 1 || !strings.Contains(p.missing[CPU], "not available") {
		t.Errorf("missing %v", p.missing)
	}
	if p.unified.leave {
		t.Error("would move although the rest is handed down already")
	}
}

func TestUnifiedDaemonInItsLeaf(t *testing.T) {
	files := scope("cg/coop.scope", "cpu memory pids\n", "cpu memory pids\n", "")
	files["cg/coop.scope/coop-daemon/cgroup.procs"] = "77\n"
	root, l := fakeHost(t, "0::/coop.scope/coop-daemon\n", v2Mount, files)
	p := survey(l, "coop", 77)
	if p.unified.path != filepath.Join(root, "cg/coop.scope") || len(p.missing) != 0 {
		t.Errorf("place %+v, missing %v", p.unified, p.missing)
	}
}

func TestContainerSeesPartOfHierarchy(t *testing.T) {
	mount := strings.Replace(v2Mount, " / ", " /docker/abc ", 1)
	root, l := fakeHost(t, "0::/docker/abc/work\n", mount, map[string]string{"cg/work/": ""})
	if l.unified.dir != filepath.Join(root, "cg/work") {
		t.Errorf("dir %q", l.unified.dir)
	}
	_, l = fakeHost(t, "0::/elsewhere\n", mount, map[string]string{"cg/": ""})
	h := survey(l, "coop", 77).host()
	if h.Layout != None || !strings.Contains(h.Reason, "outside") || h.Missing[Memory] == "" {
		t.Errorf("host %+v", h)
	}
}

func TestHybrid(t *testing.T) {
	mounts := "41 31 0:38 / ROOT/cg/unified rw - cgroup2 cgroup2 rw\n" +
		"32 31 0:29 / ROOT/cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"39 31 0:36 / ROOT/cg/p\\040ids rw - cgroup cgroup rw,pids\n"
	root, l := fakeHost(t, "8:pids:/a\n4:cpu,cpuacct:/\n1:name=systemd:/x\n0::/\n", mounts,
		map[string]string{"cg/unified/": "", "cg/cpu,cpuacct/": "", "cg/p ids/a/": ""})
	p := survey(l, "coop", 77)
	if p.layout != Hybrid {
		t.Fatalf("layout %s: %s", p.layout, p.reason)
	}
	if p.v1[CPU] != filepath.Join(root, "cg/cpu,cpuacct") || p.v1[PIDs] != filepath.Join(root, "cg/p ids/a") {
		t.Errorf("v1 %v", p.v1)
	}
	if p.missing[Memory] == "" || len(p.missing) != 1 {
		t.Errorf("missing %v", p.missing)
	}
}

func TestNothingMounted(t *testing.T) {
	_, l := fakeHost(t, "0::/\n", "22 1 0:21 / /proc rw - proc proc rw\n", map[string]string{})
	h := survey(l, "coop", 77).host()
	if h.Layout != None || h.Reason == "" || len(h.Missing) != 3 {
		t.Errorf("host %+v", h)
	}
}

func TestMalformedInput(t *testing.T) {
	if got := parseMounts("x\n1 2 3 - cgroup2\n - - -\n"); len(got) != 0 {
		t.Errorf("mounts %v", got)
	}
	if got := parseMembership("nonsense\n\n1:a\n"); len(got) != 0 {
		t.Errorf("membership %v", got)
	}
	if _, ok := keyed("populated x\n", "populated"); ok {
		t.Error("number out of letters")
	}
}

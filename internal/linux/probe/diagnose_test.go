package probe

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coop-dev/coop/internal/linux/cgroup"
)

// fake is a host of files in a temporary directory, seen by uid 1000.
func fake(t *testing.T, files map[string]string) *host {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &host{proc: filepath.Join(root, "proc"), etc: filepath.Join(root, "etc"), exe: "/opt/my tools/coop", uid: 1000}
}

func TestDiagnose(t *testing.T) {
	const mounts = "22 1 8:1 / / rw - ext4 /dev/vda rw\n"
	tests := []struct {
		name  string
		files map[string]string
		errno syscall.Errno
		hint  string
	}{
		{"none allowed", map[string]string{"proc/sys/user/max_user_namespaces": "0\n"}, syscall.ENOSPC, "user.max_user_namespaces=15000"},
		{"debian", map[string]string{"proc/sys/kernel/unprivileged_userns_clone": "0\n"}, syscall.EPERM, "unprivileged_userns_clone=1"},
		{"ubuntu 24.04", map[string]string{"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}, syscall.EACCES, "profile coop \"/opt/my tools/coop\" flags=(unconfined) {\n  userns,"},
		{"chroot", map[string]string{"proc/self/mountinfo": "30 22 0:5 / /proc rw - proc proc rw\n"}, syscall.EPERM, "chroot"},
		{"container", map[string]string{"proc/self/mountinfo": mounts, "proc/self/status": "Name:\tx\nSeccomp:\t2\n"}, syscall.EPERM, "seccomp"},
		{"too deep", map[string]string{"proc/self/mountinfo": mounts}, syscall.EUSERS, "levels"},
		{"not built in", map[string]string{}, syscall.EINVAL, "CONFIG_USER_NS"},
		{"unknown", map[string]string{}, syscall.EPERM, "administrator"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, hint := fake(t, test.files).diagnose(test.errno); !strings.Contains(hint, test.hint) {
				t.Errorf("hint %q", hint)
			}
		})
	}
}

func TestBlockedWithoutUserns(t *testing.T) {
	h := fake(t, map[string]string{"proc/self/uid_map": "0 0 4294967295\n"})
	checks := append(h.mounts(t.Context()), h.procMount(t.Context()), h.netns(t.Context()))
	for _, c := range checks {
		if c.OK || c.Hint == "" || c.Name != "idmapped-mounts" && c.Hint != "see userns" {
			t.Errorf("%+v", c)
		}
	}
}

func TestSubordinateIDs(t *testing.T) {
	h := fake(t, map[string]string{
		"etc/subuid": "alice:100000:65536\n1000:200000:1000\n# x\nbob:1:1\nalice:1:-5\nalice:x:y\n",
	})
	if got := h.subIDs("subuid", "alice"); got != 66536 {
		t.Errorf("%d user ids", got)
	}
	if got := h.subIDs("subgid", "alice"); got != 0 {
		t.Errorf("%d group ids without a file", got)
	}
	if c := h.ranges(Check{}); c.OK || !strings.Contains(c.Hint, "usermod --add-subuids") {
		t.Errorf("%+v", c)
	}
}

func TestRootOfANamespaceIsNotRoot(t *testing.T) {
	h := fake(t, map[string]string{"proc/self/uid_map": "0 1000 1\n1 100000 65536\n"})
	h.uid = 0
	if h.realRoot() {
		t.Error("taken for root of the machine")
	}
	if c := h.idmap(t.Context()); !c.OK || !strings.Contains(c.Detail, "65537") {
		t.Errorf("%+v", c)
	}
}

func TestCoveredProc(t *testing.T) {
	h := fake(t, map[string]string{"proc/self/mountinfo": "1 0 8:1 / / rw - ext4 x rw\n2 1 0:5 / /proc rw - proc proc rw\n3 2 0:6 / /proc/kcore rw - tmpfs tmpfs rw\n"})
	if got := h.coveredProc(); len(got) != 1 || got[0] != "/proc/kcore" {
		t.Errorf("covered %v", got)
	}
}

func TestKernelVersions(t *testing.T) {
	for release, want := range map[string]bool{"5.10.0-28-amd64": false, "4.19.1": false, "5.11.0": true, "6.1.0-rc1": true, "10.0": true, "x": false} {
		if c := judgeKernel(Check{}, release); c.OK != want || c.OK != (c.Hint == "") {
			t.Errorf("%s: %+v", release, c)
		}
	}
}

func TestHomeProblems(t *testing.T) {
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for home, want := range map[string]string{"": "COOP_HOME", open: "chmod 700", file: "to a directory", file + "/below": "COOP_HOME"} {
		h := newHost(Options{Home: home})
		if c := h.homeDir(t.Context()); c.OK || !strings.Contains(c.Hint, want) {
			t.Errorf("%q: %+v", home, c)
		}
	}
}

func TestCgroupAnswer(t *testing.T) {
	none := judgeCgroup(cgroup.Host{Layout: cgroup.None, Reason: "denied", Hint: "do"})
	if none.OK || none.Required || !strings.Contains(none.Detail, "denied") || none.Hint != "do" {
		t.Errorf("%+v", none)
	}
	part := judgeCgroup(cgroup.Host{Layout: cgroup.Unified, Path: "/x", Missing: map[string]string{"cpu": "no cpu"}, Hint: "do"})
	if part.OK || !strings.Contains(part.Detail, "no cpu limit (no cpu)") {
		t.Errorf("%+v", part)
	}
}

package fault

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coop-dev/coop/test/harness"
)

// Packages of a real Debian are installed by whoever builds a base, with many
// ids or with one, without any helper. COOP_TEST_DEBIAN names a tar of a root as
// debootstrap makes it, whose apt can reach its mirror: test/debian.sh.
func TestDebianPackages(t *testing.T) {
	file := os.Getenv("COOP_TEST_DEBIAN")
	if file == "" {
		t.Skip("COOP_TEST_DEBIAN names no root filesystem")
	}
	h, dir := harness.Private(t), harness.Project(t)
	t.Cleanup(func() { // some of its files belong to ids that only the daemon can remove
		if r := h.Coop(t, "image", "prune", "-a"); r.Code != 0 {
			t.Error(r.Stderr)
		}
	})
	text := `[base]
image = "tar:` + file + `"
[packages]
apt = ["git", "openssh-client", "postgresql-client"]
[setup]
run = [
  "useradd -m joe && groupadd -f dev && usermod -aG dev joe && getent passwd joe",
  "install -d -o joe -g dev -m 2775 /srv/shared && touch /srv/shared/x && chown joe:dev /srv/shared/x",
]
`
	if err := os.WriteFile(filepath.Join(dir, "coop.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := h.Command(within(t, 8*time.Minute), "rebuild")
	cmd.Dir = dir
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy"} {
		cmd.Env = append(cmd.Env, name+"="+os.Getenv(name))
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	one := harness.Mode() == "user-single-id"
	for command, want := range map[string]string{
		"git --version":            "git version",
		"ssh -V 2>&1":              "OpenSSH",
		"psql --version":           "psql (PostgreSQL)",
		"dpkg --audit; echo whole": "whole",
		"stat -c %a /srv/shared":   "2775",
		"stat -c %a /usr/bin/ssh-agent; echo $(($(stat -c %g /usr/bin/ssh-agent) > 0))": map[bool]string{true: "2755\n0", false: "2755\n1"}[one],
		"stat -c '%U %G' /srv/shared/x": map[bool]string{true: "root root", false: "joe dev"}[one],
		"getent passwd joe":             "joe:x:1000:1000::/home/joe:",
	} {
		r := h.CoopIn(t, dir, nil, "-q", "run", "--rm", "--", "sh", "-c", command)
		if got := strings.TrimSpace(r.Stdout); r.Code != 0 || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, status %d: %s", command, got, r.Code, r.Stderr)
		}
	}
}

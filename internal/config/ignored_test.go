package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// samples set every key to something that is not its default.
var samples = map[string]string{
	"base.image":   `"debian:12"`,
	"packages.apt": `["a"]`, "packages.apk": `["a"]`, "packages.dnf": `["a"]`, "packages.npm": `["a"]`, "packages.pip": `["a"]`,
	"setup.run":     `["a"]`,
	"agent.command": `"a"`, "agent.args": `["a"]`, "agent.install": `"a"`, "agent.user": `"me"`,
	"workspace.source": `"/x"`, "workspace.mode": `"bind"`, "workspace.path": `"/x"`, "workspace.repo": `false`,
	"workspace.commit": `"a"`, "workspace.reserve": `["a"]`,
	"env":             `{A = "b"}`,
	"network.mode":    `"host"`,
	"session.persist": `["a"]`, "session.auto_restart": `false`, "session.restart_delay": `"1s"`, "session.ttl": `"1h"`, "session.idle_timeout": `"1h"`,
	"mounts":     `[{source = "/a", target = "/b"}]`,
	"limits.cpu": `1`, "limits.memory": `"1GiB"`, "limits.pids": `99`, "limits.disk": `"1GiB"`, "limits.exec_timeout": `"1s"`,
	"security.seccomp": `"strict"`, "security.readonly_root": `true`, "security.optional": `["limits"]`,
	"terminal.detach_key": `"ctrl-b"`, "terminal.scrollback": `"1MiB"`, "terminal.ctrl_c_debounce": `"1s"`, "terminal.block": `["x"]`,
	"review.deny": `["a"]`, "review.flag": `["a"]`, "review.check": `"a"`, "review.commit_message": `"a"`,
	"review.commit_author": `"agent"`, "review.allow": `["a"]`, "review.max_file": `"1MiB"`, "review.no_binary": `true`,
	"review.auto_files": `3`, "review.auto_lines": `5`,
	"driver.workspace": `"copy"`, "driver.upper": `"tmpfs"`,
	"cache.paths": `["/a"]`,
}

// TestNothingIsIgnored: every key that a file sets is part of a request, is
// refused, or is used by the command line itself.
func TestNothingIsIgnored(t *testing.T) {
	for _, k := range keys() {
		sample, ok := samples[k.name]
		if !ok {
			t.Errorf("%s: no sample", k.name)
			continue
		}
		o := stand(t, map[string]string{"project/coop.toml": k.name + " = " + sample + "\n"})
		c := load(t, o)
		empty := Defaults()
		empty.Dir, empty.root = o.Dir, newTable(place{})
		env, err := c.Environ(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case !cmp.Equal(c.Request(), empty.Request()), len(env) > 0, len(c.MountList()) > 0, c.Supported("debian:12") != nil:
		case k.name == "terminal.detach_key" && c.Terminal.Keys().String() == "ctrl-b":
		default:
			t.Errorf("%s = %s has no effect", k.name, sample)
		}
	}
}

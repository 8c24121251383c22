package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
)

// peer is another tool that runs true in a sandbox.
type peer struct {
	name string
	argv []string
}

func (p peer) sample(ctx context.Context, t *table) error {
	return t.time(p.name, func() error {
		cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
		return cmd.Run()
	})
}

// peers are those that are installed and work here.
func peers(dir string) []peer {
	all := []peer{
		{"unshare, no mounts", []string{"unshare", "-Ur", "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--fork", "true"}},
		{"bwrap, read-only /usr", []string{
			"bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
			"--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "true",
		}},
	}
	for _, runtime := range []string{"crun", "runc"} {
		if bundle, err := makeBundle(filepath.Join(dir, runtime), runtime); err == nil {
			all = append(all, peer{runtime + " run", []string{
				runtime, "--root", filepath.Join(dir, runtime, "state"), "run", "--bundle", bundle, "bench-" + runtime,
			}})
		}
	}
	var usable []peer
	for _, p := range all {
		if installed(p.argv[0]) && exec.Command(p.argv[0], p.argv[1:]...).Run() == nil {
			usable = append(usable, p)
		}
	}
	return usable
}

// makeBundle has the runtime write its own default configuration and gives it
// the host's /usr.
func makeBundle(dir, runtime string) (string, error) {
	for _, d := range []string{"rootfs/usr", "rootfs/proc", "rootfs/sys", "rootfs/dev", "rootfs/tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return "", err
		}
	}
	for _, l := range []string{"bin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+l, filepath.Join(dir, "rootfs", l)); err != nil {
			return "", err
		}
	}
	spec := exec.Command(runtime, "spec")
	if os.Getuid() != 0 {
		spec.Args = append(spec.Args, "--rootless")
	}
	spec.Dir = dir
	if err := spec.Run(); err != nil {
		return "", err
	}
	return dir, editSpec(filepath.Join(dir, "config.json"))
}

func editSpec(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var c map[string]any
	if err := json.Unmarshal(b, &c); err != nil {
		return err
	}
	p := c["process"].(map[string]any)
	p["args"], p["terminal"] = []string{"true"}, false
	c["mounts"] = append(c["mounts"].([]any), map[string]any{
		"destination": "/usr", "source": "/usr", "type": "bind", "options": []string{"rbind", "ro"},
	})
	if b, err = json.Marshal(c); err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o644)
}

package engine

import (
	"testing"

	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/sandbox"
)

func TestImageUser(t *testing.T) {
	for in, want := range map[string]string{
		"": "root", "app": "app", "1000": "1000", "1000:100": "1000:100", "nginx:nginx": "nginx", "1000:users": "1000",
		"no such user!": "", ":0": "", "$(id)": "",
	} {
		got, err := imageUser(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestApplyImage(t *testing.T) {
	img := image.Image{Digest: "sha256:1", Config: image.Config{User: "app", Entrypoint: []string{"/run"}, Cmd: []string{"-x"}, WorkingDir: "/srv"}}
	for name, c := range map[string]struct {
		agent      sandbox.Agent
		single     bool
		user, argv string
		degraded   int
	}{
		"its own words":   {sandbox.Agent{}, false, "app", "/run", 0},
		"with one id":     {sandbox.Agent{}, true, "root", "/run", 1},
		"asked otherwise": {sandbox.Agent{User: "0", Command: "sh"}, true, "0", "sh", 0},
	} {
		spec := sandbox.Spec{Image: "x", Agent: c.agent}
		if err := applyImage(&spec, img, c.single); err != nil {
			t.Fatal(err)
		}
		if spec.Agent.User != c.user || spec.Agent.Command != c.argv || len(imageWeakness(spec)) != c.degraded || spec.ImageConfig.Digest != img.Digest {
			t.Errorf("%s: %+v", name, spec)
		}
		if c.agent.Command == "sh" && len(spec.Agent.Args) != 0 {
			t.Errorf("%s: the image's arguments for another command: %v", name, spec.Agent.Args)
		}
	}
}

func TestImageEnvironmentAndDirectory(t *testing.T) {
	l := &live{spec: sandbox.Spec{
		Name: "box", Env: map[string]string{"B": "mine"}, Workspace: sandbox.Workspace{Mode: sandbox.ModeNone, Path: "/workspace"},
		ImageConfig: &sandbox.ImageConfig{Env: []string{"A=1", "B=2", "COOP_SESSION=forged", "IS_SANDBOX=0", "PATH=/opt/bin", "odd", "=x", "N=\x00"}, WorkingDir: "/srv/../app"},
	}}
	env := map[string]bool{}
	for _, kv := range environment(l, nil) {
		env[kv] = true
	}
	for _, want := range []string{"A=1", "B=mine", "COOP_SESSION=box", "IS_SANDBOX=1", "PATH=/opt/bin"} {
		if !env[want] {
			t.Errorf("no %s in %v", want, env)
		}
	}
	if env["odd"] || env["=x"] || env["N=\x00"] {
		t.Errorf("%v", env)
	}
	if got := workingDir(l, ""); got != "/app" {
		t.Error(got)
	}
	l.spec.Workspace.Mode = sandbox.ModeOverlay
	if got := workingDir(l, "sub"); got != "/workspace/sub" {
		t.Error(got)
	}
}

func TestUseImage(t *testing.T) {
	e := &Engine{Config: Config{Images: image.New(image.Options{Home: t.TempDir()})}}
	spec := sandbox.Spec{Image: sandbox.DefaultImage, ImageConfig: &sandbox.ImageConfig{Digest: "forged"}}
	if _, err := e.useImage(&spec); err != nil || spec.ImageConfig != nil {
		t.Errorf("%+v, %v", spec, err)
	}
	spec = sandbox.Spec{Image: "debian:12"}
	if _, err := e.useImage(&spec); sandbox.CodeOf(err) != sandbox.NotFound {
		t.Errorf("%v", err)
	}
}

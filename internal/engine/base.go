package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"

	"github.com/coop-dev/coop/internal/base"
	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/rootfs"
	"github.com/coop-dev/coop/internal/sandbox"
)

// exitNotBuilt is the exit status of a command whose base is not there.
const exitNotBuilt = 5

// BasePlan is what a configuration's base is made of.
type BasePlan struct {
	Image string // the reference it is built from
	Steps []base.Step
	Keys  []string // of the state after each step, the image itself first

	parent image.Image // zero for the host's system
}

// config is the key of the whole.
func (p BasePlan) config() string { return p.Keys[len(p.Keys)-1] }

// BaseState is a plan and what of it is there.
type BaseState struct {
	Plan   BasePlan
	Cached []bool // of each step, whether its layer is there
	Digest string // of the newest base; empty when it is not built
}

// chooseImage finds what a new sandbox's root is: the image, or the base that
// was built from it.
func (e *Engine) chooseImage(ctx context.Context, spec *sandbox.Spec, o CreateOptions) (release func(), err error) {
	switch {
	case o.image != nil:
		spec.ImageConfig = o.image
		return func() {}, nil
	case spec.Build.Empty():
		return e.useImage(spec)
	}
	return e.useBase(ctx, spec)
}

// useBase gives a new sandbox the base of its configuration.
func (e *Engine) useBase(ctx context.Context, spec *sandbox.Spec) (release func(), err error) {
	spec.ImageConfig = nil
	plan, done, err := e.planBase(ctx, spec.Image, spec.Build)
	if sandbox.CodeOf(err) == sandbox.NotFound && err != nil {
		return nil, notBuilt(spec.Image) // its image will come with the build
	}
	if err != nil {
		return nil, err
	}
	defer done()
	img, release, ok := e.Images.UseBase(plan.config())
	if !ok {
		return nil, notBuilt(spec.Image)
	}
	if err := applyImage(spec, img, e.UIDs.Single()); err != nil {
		release()
		return nil, err
	}
	spec.ImageConfig.Base, spec.ImageConfig.OverHost = true, img.Base.OverHost()
	return release, nil
}

func notBuilt(image string) error {
	return sandbox.Errorf(sandbox.Unavailable, "the base of this configuration is not built: %.128s with packages, setup or agent of its own", image).
		WithHint("coop rebuild").WithDetail("exit", exitNotBuilt)
}

// planBase works out the steps. The image is kept until done is called.
func (e *Engine) planBase(ctx context.Context, ref string, b *sandbox.Build) (p BasePlan, done func(), err error) {
	if e.Images == nil {
		return p, nil, sandbox.Errorf(sandbox.Unsupported, "this daemon keeps no images")
	}
	p = BasePlan{Image: ref, Steps: base.Steps(b)}
	parent := hostSystem()
	done = func() {}
	if ref != sandbox.DefaultImage {
		if p.parent, done, err = e.Images.Use(ref); err != nil {
			return p, nil, err
		}
		parent = p.parent.Digest
	}
	if n := len(p.parent.Layers) + len(p.Steps); n > e.Images.Limits.Layers {
		done()
		return p, nil, sandbox.Errorf(sandbox.TooLarge, "the base would have %d layers, at most %d can be stacked", n, e.Images.Limits.Layers).
			WithHint("join commands of setup.run")
	}
	p.Keys = base.Keys(parent, p.Steps)
	return p, done, nil
}

// hostSystem names the host's system as far as a base depends on it: a new
// release is another system, an update of a package is not.
func hostSystem() string {
	text, _ := os.ReadFile("/etc/os-release") // a host without one has one system only
	sum := sha256.Sum256(text)
	return "host " + hex.EncodeToString(sum[:])
}

// Base says what of a configuration's base is there.
func (e *Engine) Base(ctx context.Context, ref string, b sandbox.Build) (BaseState, error) {
	plan, done, err := e.planBase(ctx, ref, &b)
	if err != nil {
		return BaseState{}, err
	}
	defer done()
	s := BaseState{Plan: plan}
	below := ""
	for i := range plan.Steps {
		hex, release, ok := e.Images.FindBuilt(plan.Keys[i+1], below)
		if ok {
			release()
		}
		s.Cached, below = append(s.Cached, ok), hex
		if !ok {
			below = "none" // nothing lies over a layer that is not there
		}
	}
	if img, release, ok := e.Images.UseBase(plan.config()); ok && len(plan.Steps) > 0 {
		release()
		s.Digest = img.Digest
	}
	return s, nil
}

// systemOverHost is the host's system with the layers of a base over it. The
// first step of one has none yet.
func (e *Engine) systemOverHost(ctx context.Context, spec sandbox.Spec, files *rootfs.Params) (key string, err error) {
	if files.Image, err = e.host.Get(ctx); err != nil || spec.ImageConfig.Digest == "" {
		return keyOf(files), err
	}
	img, err := e.Images.ByDigest(spec.ImageConfig.Digest)
	if err != nil {
		return "", err
	}
	files.Stack = &rootfs.Stack{Dir: e.Images.LayerDir(), Names: e.Images.LayerNames(img)}
	return files.Image.Key, nil
}

func keyOf(files *rootfs.Params) string {
	if files.Image == nil {
		return ""
	}
	return files.Image.Key
}

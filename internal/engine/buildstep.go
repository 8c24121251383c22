package engine

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"

	"github.com/coop-dev/coop/internal/base"
	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/sandbox"
)

// make runs one step in a sandbox and turns what it wrote into a layer.
func (b *build) make(ctx context.Context, i int, layer string, about image.Built) error {
	v, err := b.sandbox(ctx, i, layer)
	if err != nil {
		return err
	}
	if err := b.commands(ctx, i, v); err != nil {
		return err
	}
	if _, err := b.e.Stop(ctx, string(v.ID), DefaultGrace, b.req.Actor); err != nil {
		return b.abandon(v, err)
	}
	release, err := b.e.harvest(ctx, v.Record, layer, about)
	if err != nil {
		return b.abandon(v, err)
	}
	b.have(layer, release)
	return b.e.Delete(context.WithoutCancel(ctx), string(v.ID), b.req.Actor)
}

// sandbox makes the sandbox of a step: over what is there so far, with the
// host's network and no files of the host's. One that an earlier try left under
// its name goes.
func (b *build) sandbox(ctx context.Context, i int, layer string) (View, error) {
	config := &sandbox.ImageConfig{
		Digest: b.plan.parent.Digest, Env: b.plan.parent.Config.Env,
		OverHost: b.req.Image == sandbox.DefaultImage, Makes: layer,
	}
	if i > 0 {
		img, err := b.enter(i, "")
		if err != nil {
			return View{}, err
		}
		config.Digest, config.Base = img.Digest, true
	}
	spec := sandbox.Spec{
		Name: "build-" + layer[:8], Image: b.req.Image, Network: sandbox.NetworkHost,
		Workspace: sandbox.Workspace{Mode: sandbox.ModeNone}, Agent: sandbox.Agent{User: sandbox.DefaultUser},
		Limits: b.req.Limits,
	}
	if old, err := b.e.Get(ctx, spec.Name); err == nil && old.Spec.ImageConfig != nil && old.Spec.ImageConfig.Makes == layer {
		if err := b.e.Delete(ctx, string(old.ID), b.req.Actor); err != nil {
			return View{}, err
		}
	}
	v, _, err := b.e.Create(ctx, spec, CreateOptions{Actor: b.req.Actor, image: config})
	return v, err
}

// abandon removes the sandbox of a step that did not fail itself.
func (b *build) abandon(v View, cause error) error {
	err := b.e.Delete(context.Background(), string(v.ID), b.req.Actor)
	if err != nil {
		b.e.Log.Error("remove sandbox of build", "sandbox", v.ID, "err", err)
	}
	return cause
}

// commands runs the programs of a step, one after the other.
func (b *build) commands(ctx context.Context, i int, v View) error {
	b.out.Begin()
	fmt.Fprintf(b.out, "# %s\n", b.plan.Steps[i].Text)
	b.out.Begin()
	for _, c := range b.plan.Steps[i].Commands {
		out, err := b.command(ctx, i, v, c)
		switch {
		case ctx.Err() != nil:
			return b.abandon(v, context.Cause(ctx))
		case err != nil:
			return b.failed(i, v, err.Error(), err)
		case out.TimedOut:
			return b.failed(i, v, "it took longer than commands may take here", nil)
		case out.Code != 0:
			return b.failed(i, v, fmt.Sprintf("%s: exit status %d", shownProgram(c), out.Code), nil)
		}
	}
	return nil
}

func shownProgram(c base.Command) string {
	if c.Shell {
		return "sh"
	}
	return c.Program
}

// failed says how a step ended and where to look.
func (b *build) failed(i int, v View, how string, cause error) error {
	if err := b.e.keepFailed(v.ID); err != nil {
		b.e.Log.Error("keep sandbox of failed step", "sandbox", v.ID, "err", err)
	}
	code := sandbox.Conflict // with what the step expected
	if cause != nil {
		code = sandbox.CodeOf(cause)
	}
	return sandbox.Errorf(code, "step %d of %d failed: %s", i+1, len(b.plan.Steps), how).
		WithHint("look into it with: coop shell %s", v.Spec.Name).
		WithDetail("sandbox", v.Spec.Name).WithDetail("step", b.plan.Steps[i].Text).
		WithDetail("lastLines", b.out.LastLines()).WithDetail("log", b.log)
}

// command runs one program and passes on what it says. Should this daemon die,
// the next one ends the program and removes the sandbox: that is what the
// command says shall be done at its exit.
func (b *build) command(ctx context.Context, i int, v View, c base.Command) (Outcome, error) {
	env := maps.Clone(b.req.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, c.Env)
	x, err := b.e.Exec(ctx, string(v.ID), Command{
		Command: c.Program, Args: c.Args, Direct: !c.Shell, Env: env, WorkingDir: "/", User: sandbox.DefaultUser, OnExit: Remove,
	})
	if err != nil {
		return Outcome{}, err
	}
	defer x.x.Release() // not Finish, which would carry OnExit out
	stop := context.AfterFunc(ctx, x.Kill)
	defer stop()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, pipe := range []*os.File{x.Stdout(), x.Stderr()} {
		wg.Go(func() { b.copy(i, pipe, &mu) })
	}
	out, err := x.Wait(context.Background())
	x.Kill() // what it left in the background would hold the pipes, and ends with the step
	wg.Wait()
	return out, err
}

// copy passes output on until the last writer is gone.
func (b *build) copy(i int, from io.Reader, mu *sync.Mutex) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			mu.Lock()
			_, _ = b.out.Write(buf[:n]) // it never fails
			b.tell(i, StepOutput, buf[:n])
			mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

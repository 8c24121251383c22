package engine

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"time"

	"github.com/coop-dev/coop/internal/base"
	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/sandbox"
)

// BuildRequest asks for a base.
type BuildRequest struct {
	Image   string
	Build   sandbox.Build
	Name    string            // the base is called localhost/base/NAME
	NoCache bool              // every step anew
	Env     map[string]string // for the steps; not part of what the base is
	Limits  sandbox.Limits
	Actor   string
}

// BuildStatus says what becomes of a step.
type BuildStatus string

// The states of a step. Output comes between StepRuns and StepDone.
const (
	StepCached BuildStatus = "cached"
	StepRuns   BuildStatus = "running"
	StepOutput BuildStatus = "output"
	StepDone   BuildStatus = "done"
)

// BuildProgress is one thing that happened. Output is from inside, as it came.
type BuildProgress struct {
	Step   int // from 1
	Steps  int
	Text   string
	Status BuildStatus
	Output []byte
}

// build is one base on its way.
type build struct {
	e      *Engine
	req    BuildRequest
	plan   BasePlan
	report func(BuildProgress)
	out    *base.Output
	log    string
	mark   string // of layers made without the cache

	layers  []string // made or found so far
	between []string // digests of bases that were needed on the way
	undo    undo     // releases, whatever happens
}

// Build makes the base of a configuration: each step in a sandbox of its own
// over what the steps before have made, and what it wrote becomes a layer. Steps
// whose layer is there are not run again. report is called from one goroutine
// at a time.
//
// A step that fails leaves its sandbox to be looked at, the layers before it for
// the next try, and bases that were there as they were.
func (e *Engine) Build(ctx context.Context, req BuildRequest, report func(BuildProgress)) (image.Image, error) {
	if err := req.Build.Validate(req.Image); err != nil {
		return image.Image{}, err
	}
	if req.Build.Empty() {
		return image.Image{}, sandbox.Errorf(sandbox.Invalid, "there is nothing to build").
			WithHint("packages, commands or an agent's installation make a base")
	}
	plan, done, err := e.planBase(ctx, req.Image, &req.Build)
	if err != nil {
		return image.Image{}, err
	}
	b := &build{e: e, req: req, plan: plan, report: report}
	b.undo.add(done)
	defer b.undo.run()
	if req.NoCache {
		b.mark = rand.Text()
	}
	return b.run(ctx)
}

func (b *build) run(ctx context.Context) (image.Image, error) {
	closeLog, err := b.openLog()
	if err != nil {
		return image.Image{}, err
	}
	defer closeLog()
	for i := range b.plan.Steps {
		if err := b.step(ctx, i); err != nil {
			return image.Image{}, err
		}
	}
	img, err := b.enter(len(b.layers), b.reference())
	if err != nil {
		return image.Image{}, err
	}
	b.undo.run() // nothing of ours holds what was needed on the way any more
	b.undo = nil
	if err := b.e.Images.DropUnused(context.WithoutCancel(ctx), b.between); err != nil {
		b.e.Log.Warn("forget states between steps", "err", err)
	}
	return img, nil
}

// step finds the layer of a step or makes it. Of several builds that need the
// same layer one makes it and the others wait.
func (b *build) step(ctx context.Context, i int) error {
	key, below := b.plan.Keys[i+1], b.top()
	name := base.LayerName(key, below, b.mark)
	unlock, err := b.e.Images.Exclusive(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	if b.mark == "" {
		if hex, release, ok := b.e.Images.FindBuilt(key, below); ok {
			b.have(hex, release)
			b.tell(i, StepCached, nil)
			return nil
		}
	}
	b.tell(i, StepRuns, nil)
	if err := b.make(ctx, i, name, image.Built{Step: key, Parent: below}); err != nil {
		return err
	}
	b.tell(i, StepDone, nil)
	return nil
}

func (b *build) top() string {
	if len(b.layers) == 0 {
		return ""
	}
	return b.layers[len(b.layers)-1]
}

func (b *build) have(layer string, release func()) {
	b.layers = append(b.layers, layer)
	b.undo.add(release)
}

func (b *build) tell(i int, s BuildStatus, output []byte) {
	b.report(BuildProgress{Step: i + 1, Steps: len(b.plan.Steps), Text: b.plan.Steps[i].Text, Status: s, Output: output})
}

// enter writes down the base that n steps make, for our own use or under a name.
func (b *build) enter(n int, ref string) (image.Image, error) {
	about := image.Base{Config: b.plan.Keys[n], Image: b.req.Image, Parent: b.plan.parent.Digest}
	for _, s := range b.plan.Steps[:n] {
		about.Steps = append(about.Steps, s.Text)
	}
	img, release, err := b.e.Images.EnterBase(image.BaseOver(b.plan.parent, about, b.layers[:n]), ref)
	if err != nil {
		return image.Image{}, err
	}
	b.undo.add(release)
	if n < len(b.plan.Steps) {
		b.between = append(b.between, img.Digest)
	}
	return img, nil
}

// reference is what the base is called: as podman calls what was made here.
func (b *build) reference() string {
	name := b.req.Name
	if name == "" {
		name = b.plan.config()[:12]
	}
	return "localhost/base/" + name + ":latest"
}

// keepLogs is how many logs of builds stay.
const keepLogs = 20

// openLog begins the log of a build: builds/TIME-KEY-….log, the newest of them.
func (b *build) openLog() (end func(), err error) {
	dir := filepath.Join(b.e.Home, "builds")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, diskError(err)
	}
	name := time.Now().UTC().Format("20060102T150405.000") + "-" + b.plan.config()[:12] + "-*.log"
	f, err := os.CreateTemp(dir, name) // two builds may begin at the same moment
	if err != nil {
		return nil, diskError(err)
	}
	b.log = f.Name()
	b.out = &base.Output{Log: f, Note: func(err error) { b.e.Log.Warn("write log of build", "path", b.log, "err", err) }}
	sweepLogs(dir)
	return func() {
		if st, err := f.Stat(); err == nil && st.Size() == 0 {
			_ = os.Remove(b.log) // nothing ran, nothing to tell
		}
		f.Close()
	}, nil
}

func sweepLogs(dir string) {
	entries, err := os.ReadDir(dir) // by name, which is by age
	if err != nil {
		return
	}
	for _, e := range entries[:max(0, len(entries)-keepLogs)] {
		_ = os.Remove(filepath.Join(dir, e.Name())) // the next build tries again
	}
}

package review

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Config says whose changes are reviewed and where everything is.
type Config struct {
	Sandbox  sandbox.ID
	Name     string
	Project  string        // its directory, without links
	Layer    changes.Layer // what the sandbox wrote
	Dir      string        // sandboxes/<id>/review
	Home     string        // COOP_HOME/review: journals, and copies of what was overwritten
	Made     time.Time     // when the sandbox was
	Policy   sandbox.Review
	RealRoot bool   // new files have to be given to the project's owner
	OwnerUID uint32 // host id of the workspace's owner, for files restored in the layer
	OwnerGID uint32
	// Mount opens the workspace as the running sandbox sees it; nil when it does
	// not run and the layer may be changed directly.
	Mount func(ctx context.Context) (*os.File, error)
}

// Review is one sandbox's, opened for one request.
type Review struct {
	Config
	project *os.File
	layer   *os.File
	space   *changes.Workspace
	state   *State
	base    *baseline
	scratch *Scratch
}

// DirOf is the review directory of a sandbox's directory.
func DirOf(sandboxDir string) string { return filepath.Join(sandboxDir, "review") }

// Open opens project and layer.
func Open(c Config) (r *Review, err error) {
	r = &Review{Config: c, scratch: &Scratch{Dir: c.Dir}}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.project, err = openDir(c.Project); err != nil {
		return nil, missingProject(c.Project, err)
	}
	if r.layer, err = openDir(c.Layer.Dir); err != nil {
		return nil, err
	}
	if r.space, err = changes.Open(c.Project, c.Layer); err != nil {
		return nil, missingProject(c.Project, err)
	}
	r.base = loadBaseline(c.Dir)
	r.state, err = LoadState(c.Dir)
	return r, err
}

func missingProject(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return sandbox.Errorf(sandbox.Conflict, "the project %s is gone: %w", path, err).
			WithHint("make the directory again, or remove the sandbox")
	}
	return err
}

// Close lets go of everything.
func (r *Review) Close() {
	r.scratch.Close()
	for _, f := range []*os.File{r.project, r.layer} {
		if f != nil {
			_ = f.Close() // only read
		}
	}
	if r.space != nil {
		_ = r.space.Close() // only read
	}
}

// policy is the sandbox's, completed with the built-in one.
func (r *Review) policy() *changes.Policy { return PolicyOf(r.Policy) }

// PolicyOf turns a sandbox's rules into those of a list of changes. Git's own
// files are denied whatever the rules say: see checkPath.
func PolicyOf(s sandbox.Review) *changes.Policy {
	p := changes.DefaultPolicy()
	if len(s.Deny) > 0 {
		p.Deny = append([]string{".git/**"}, s.Deny...)
	}
	p.Flag = append(p.Flag, s.Flag...)
	p.Allow, p.MaxBytes, p.NoBinary = s.Allow, s.MaxFileBytes, s.NoBinary
	return p
}

// List gives the changes that are not settled: pending ones, and those that are
// denied or refused.
func (r *Review) List(ctx context.Context, paths ...string) ([]changes.Change, error) {
	all, err := r.space.List(ctx, changes.Options{Paths: paths, Policy: r.policy()})
	if err != nil {
		return nil, err
	}
	return r.state.Unsettled(all, r.layer)
}

// Unsettled leaves out changes that were approved or discarded and not touched
// since.
func (s *State) Unsettled(all []changes.Change, layer *os.File) ([]changes.Change, error) {
	out := all[:0]
	for _, c := range all {
		how, err := s.settled(c.Path, layer)
		if err != nil {
			return nil, err
		}
		if how == "" {
			out = append(out, c)
		}
	}
	return out, nil
}

// since is from when on a change of the project counts as one.
func (r *Review) since() time.Time {
	if r.state.Base.After(r.Made) {
		return r.state.Base
	}
	return r.Made
}

// remaining counts what is pending now.
func (r *Review) remaining(ctx context.Context) (int, error) {
	list, err := r.List(ctx)
	n := 0
	for _, c := range list {
		if c.Pending() {
			n++
		}
	}
	return n, err
}

// status is the review status after a request: approved when everything was,
// rejected when nothing was, partial in between and while something is left.
func (r *Review) status(remaining int) string {
	switch yes, no := r.state.Approved > 0, r.state.Dropped > 0; {
	case !yes && !no:
		return sandbox.ReviewPending
	case remaining == 0 && !no:
		return sandbox.ReviewApproved
	case remaining == 0 && !yes:
		return sandbox.ReviewRejected
	}
	return sandbox.ReviewPartial
}

package server

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"unicode/utf8"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/image"
	"github.com/coop-dev/coop/internal/sandbox"
)

// Bases is what the server asks of those who build bases.
type Bases interface {
	Build(ctx context.Context, req engine.BuildRequest, report func(engine.BuildProgress)) (image.Image, error)
	Base(ctx context.Context, ref string, b sandbox.Build) (engine.BaseState, error)
}

func baseRoutes() []route {
	return []route{
		{
			id: "buildBase", method: "POST", path: "/bases", summary: "Build the base of a configuration; what happens comes line by line",
			body: api.BuildRequest{}, status: http.StatusOK, answer: lines{api.BuildEvent{}}, handle: (*Server).buildBase,
		},
		{
			id: "baseStatus", method: "POST", path: "/bases/status", summary: "Say what of a configuration's base is there",
			body: api.BaseRequest{}, status: http.StatusOK, answer: api.BaseStatus{}, handle: (*Server).baseStatus,
		},
	}
}

func (s *Server) bases() (Bases, error) {
	if s.cfg.Bases == nil {
		return nil, sandbox.Errorf(sandbox.Unsupported, "this daemon builds no bases")
	}
	return s.cfg.Bases, nil
}

// buildOf is a build as the engine has it; nil stays nil.
func buildOf(b *api.Build) *sandbox.Build {
	if b == nil {
		return nil
	}
	out := &sandbox.Build{Run: b.Run, Install: b.Install}
	if p := b.Packages; p != nil {
		out.Apt, out.Apk, out.Dnf, out.Npm, out.Pip = p.Apt, p.Apk, p.Dnf, p.Npm, p.Pip
	}
	return out
}

func imageOr(ref string) string {
	if ref == "" {
		return sandbox.DefaultImage
	}
	return ref
}

func (s *Server) baseStatus(w http.ResponseWriter, r *http.Request) error {
	var req api.BaseRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	bases, err := s.bases()
	if err != nil {
		return err
	}
	b := buildOf(&req.Build)
	if err := b.Validate(imageOr(req.Image)); err != nil {
		return err
	}
	st, err := bases.Base(r.Context(), imageOr(req.Image), *b)
	if err != nil {
		return err
	}
	out := api.BaseStatus{Image: imageOr(req.Image), Digest: st.Digest, Steps: []api.BaseStep{}}
	for i, step := range st.Plan.Steps {
		out.Steps = append(out.Steps, api.BaseStep{Text: step.Text, Cached: st.Cached[i]})
	}
	return writeJSON(w, http.StatusOK, out)
}

// awaitsBuild reports whether something is unavailable until somebody builds it.
func awaitsBuild(err error) bool {
	var e *sandbox.Error
	return errors.As(err, &e) && e.Details["exit"] != nil
}

// buildBase answers line by line, as a pull does: an error before the first line
// is an ordinary answer, a client that goes away ends the build.
func (s *Server) buildBase(w http.ResponseWriter, r *http.Request) error {
	var req api.BuildRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	bases, err := s.bases()
	if err != nil {
		return err
	}
	if req.Name != "" && !sandbox.ValidName(req.Name) {
		return sandbox.Errorf(sandbox.Invalid, "illegal name %.64q", req.Name).WithHint("a name is 1 to 63 of a-z, 0-9 and -")
	}
	if err := sandbox.ValidateEnv(req.Env); err != nil {
		return err
	}
	return s.streamLines(w, r, func(ctx context.Context, out *eventLines) (any, error) {
		img, err := bases.Build(ctx, engine.BuildRequest{
			Image: imageOr(req.Image), Build: *buildOf(&req.Build), Name: req.Name, NoCache: req.NoCache, Env: req.Env, Actor: actor(r),
		}, func(p engine.BuildProgress) { out.write(buildEvent(p)) })
		shown := imageOf(img, false)
		return api.BuildEvent{Image: &shown}, err
	}, func(e *api.Error) any { return api.BuildEvent{Error: e} })
}

func buildEvent(p engine.BuildProgress) api.BuildEvent {
	e := api.BuildEvent{Step: p.Step, Steps: p.Steps, Status: string(p.Status)}
	if p.Status != engine.StepOutput {
		e.Text = p.Text
	}
	if e.Output = string(p.Output); !utf8.Valid(p.Output) {
		e.Output, e.Encoding = base64.StdEncoding.EncodeToString(p.Output), "base64"
	}
	return e
}

package server

import (
	"context"
	"encoding/base64"
	"encoding/json"
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
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	stop := context.AfterFunc(s.closing, func() { cancel(errClosing) })
	defer stop()
	out := &buildLines{w: w, rc: http.NewResponseController(w)}
	img, err := bases.Build(ctx, engine.BuildRequest{
		Image: imageOr(req.Image), Build: *buildOf(&req.Build), Name: req.Name, NoCache: req.NoCache, Env: req.Env, Actor: actor(r),
	}, out.progress)
	if err != nil && !out.begun {
		return err
	}
	last := api.BuildEvent{}
	if err != nil {
		e := wireError(err)
		s.logFailure(r, httpStatus(e.Code), err)
		last.Error = &e
	} else {
		shown := imageOf(img, false)
		last.Image = &shown
	}
	out.write(last)
	return nil
}

// buildLines writes events.
type buildLines struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	begun bool
}

func (l *buildLines) progress(p engine.BuildProgress) {
	e := api.BuildEvent{Step: p.Step, Steps: p.Steps, Status: string(p.Status)}
	if p.Status != engine.StepOutput {
		e.Text = p.Text
	}
	if e.Output = string(p.Output); !utf8.Valid(p.Output) {
		e.Output, e.Encoding = base64.StdEncoding.EncodeToString(p.Output), "base64"
	}
	l.write(e)
}

func (l *buildLines) write(e api.BuildEvent) {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", "application/x-ndjson")
		l.w.Header().Set("Cache-Control", "no-store")
		l.w.WriteHeader(http.StatusOK)
	}
	b, err := json.Marshal(e)
	if err != nil {
		return // plain strings and numbers always encode
	}
	_, _ = l.w.Write(append(b, '\n')) // a client that has gone ends the context
	_ = l.rc.Flush()
}

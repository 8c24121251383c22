package server

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/changes/patch"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
)

// patchBytes is how much content a patch may hold. It is written while it is
// made; the JSON form is kept in memory and has the smaller default.
const patchBytes = 4 << 30

func diffRoutes() []route {
	return []route{{
		id: "diff", method: "GET", path: "/sandboxes/{id}/diff", summary: "What the workspace changed",
		query: []param{
			{name: "path", summary: "only this file or directory of the workspace, may be repeated", kind: "string", repeat: true},
			{name: "format", summary: "json, or patch for what git apply takes", kind: "string"},
			{name: "detail", summary: "json: full, stat (without hunks and text) or names (without line counts)", kind: "string"},
		},
		status: http.StatusOK, answer: api.Diff{}, handle: (*Server).diff,
	}}
}

func (s *Server) diff(w http.ResponseWriter, r *http.Request) error {
	ref, err := ref(r)
	if err != nil {
		return err
	}
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	query := engine.DiffQuery{Text: true, Paths: q["path"]}
	detail, err := oneOf(q, "detail", "full", "stat", "names")
	if err != nil {
		return err
	}
	switch format, err := oneOf(q, "format", "json", "patch"); {
	case err != nil:
		return err
	case format == "patch":
		return s.writePatch(w, r, ref, query)
	}
	query.Text, query.Stamps = detail != "names", detail == "full"
	answer := newDiffAnswer(w, detail == "full")
	if err := s.cfg.Engine.Diff(r.Context(), ref, query, answer.add); err != nil {
		return err
	}
	return answer.finish()
}

// oneOf reads a parameter with a fixed set of values, the first being the default.
func oneOf(q url.Values, name string, values ...string) (string, error) {
	if !q.Has(name) {
		return values[0], nil
	}
	for _, v := range values {
		if q.Get(name) == v {
			return v, nil
		}
	}
	return "", sandbox.Errorf(sandbox.Invalid, "%s %.32q is not one of %s", name, q.Get(name), strings.Join(values, ", "))
}

// lateText is a patch that is written while it is made, but for the parts that
// must come last.
type lateText struct {
	out  io.Writer
	part []byte
	late []byte
}

func (t *lateText) add(c changes.Change, f patch.File) error {
	if c.Late() {
		t.late = f.Append(t.late)
		return nil
	}
	t.part = f.Append(t.part[:0])
	_, err := t.out.Write(t.part)
	return err
}

func (t *lateText) finish() error {
	_, err := t.out.Write(t.late)
	return err
}

// begun sends the header with the first byte, so that an error before it is still
// an error.
type begun struct {
	http.ResponseWriter
	kind string
	done bool
}

func (b *begun) Write(p []byte) (int, error) {
	if !b.done {
		b.Header().Set("Content-Type", b.kind)
		b.Header().Set("Cache-Control", "no-store")
		b.WriteHeader(http.StatusOK)
		b.done = true
	}
	return b.ResponseWriter.Write(p)
}

func (s *Server) writePatch(w http.ResponseWriter, r *http.Request, ref string, q engine.DiffQuery) error {
	q.Limits.TotalBytes = patchBytes
	to := &begun{ResponseWriter: w, kind: "text/x-diff"}
	out := bufio.NewWriterSize(to, 1<<16)
	text := lateText{out: out}
	if err := s.cfg.Engine.Diff(r.Context(), ref, q, text.add); err != nil {
		return err
	}
	if err := text.finish(); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := to.Write(nil) // an empty patch has a header too
	return err
}

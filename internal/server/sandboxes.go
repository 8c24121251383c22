package server

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
)

const maxCursor = 256

func (s *Server) createSandbox(w http.ResponseWriter, r *http.Request) error {
	var req api.CreateRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	spec, err := specOf(req)
	if err != nil {
		return err
	}
	o, err := createOptions(r, req)
	if err != nil {
		return err
	}
	v, replayed, err := s.cfg.Engine.Create(r.Context(), spec, o)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if replayed {
		status = http.StatusOK
	}
	w.Header().Set("Location", api.Prefix+"/sandboxes/"+string(v.ID))
	return writeJSON(w, status, sandboxOf(v))
}

func listParams() []param {
	return []param{
		{name: "status", summary: "only sandboxes in this state", kind: "string"},
		{name: "owner", summary: "only this owner's", kind: "string"},
		{name: "label", summary: "key=value, may be repeated", kind: "string", repeat: true},
		{name: "path", summary: "only sandboxes of this host directory", kind: "string"},
		{name: "limit", summary: "1 to 1000, 100 unless given", kind: "integer"},
		{name: "cursor", summary: "nextCursor of the page before", kind: "string"},
	}
}

func (s *Server) listSandboxes(w http.ResponseWriter, r *http.Request) error {
	q, err := parseQuery(r)
	if err != nil {
		return err
	}
	f, err := filterOf(q)
	if err != nil {
		return err
	}
	page, err := s.cfg.Engine.List(r.Context(), f)
	if err != nil {
		return err
	}
	items := make([]api.Sandbox, 0, len(page.Views))
	for _, v := range page.Views {
		items = append(items, sandboxOf(v))
	}
	return writeJSON(w, http.StatusOK, api.List[api.Sandbox]{Items: items, Total: page.Total, NextCursor: page.Next})
}

func filterOf(q url.Values) (engine.Filter, error) {
	limit, err := limitParam(q)
	if err != nil {
		return engine.Filter{}, err
	}
	labels, err := labelParams(q["label"])
	if err != nil {
		return engine.Filter{}, err
	}
	f := engine.Filter{
		Status: sandbox.Status(q.Get("status")), Owner: q.Get("owner"), Labels: labels,
		Path: q.Get("path"), Limit: limit, Cursor: q.Get("cursor"),
	}
	switch {
	case q.Has("status") && !f.Status.Valid():
		err = sandbox.Errorf(sandbox.Invalid, "unknown status %.64q", f.Status).
			WithHint("one of creating, running, frozen, stopped, error, deleted")
	case q.Has("path") && !filepath.IsAbs(f.Path):
		err = sandbox.Errorf(sandbox.Invalid, "path %.128q is not absolute", f.Path)
	case q.Has("cursor") && !visibleASCII(f.Cursor, maxCursor):
		err = sandbox.Errorf(sandbox.Invalid, "cursor is not one that a list gave")
	}
	return f, err
}

func labelParams(pairs []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if old, twice := labels[k]; !ok || k == "" || twice && old != v {
			return nil, sandbox.Errorf(sandbox.Invalid, "label %.64q is not one key=value", pair)
		}
		labels[k] = v
	}
	return labels, nil
}

func (s *Server) getSandbox(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	v, err := s.cfg.Engine.Get(r.Context(), id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, sandboxOf(v))
}

func (s *Server) deleteSandbox(w http.ResponseWriter, r *http.Request) error {
	id, err := ref(r)
	if err != nil {
		return err
	}
	remove := s.cfg.Engine.Delete
	if r.URL.Query().Get("purge") == "1" {
		remove = s.cfg.Engine.Purge
	}
	if err := remove(r.Context(), id, actor(r)); err != nil {
		return err
	}
	return noContent(w)
}

package server

import (
	"net/http"
	"strings"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/sandbox"
)

// storageOf puts what outlives the sandbox into its specification.
func storageOf(req api.CreateRequest, spec *sandbox.Spec) {
	for _, m := range req.Mounts {
		spec.Mounts = append(spec.Mounts, sandbox.Mount{Source: m.Source, Target: m.Target, Write: m.Write, Seed: m.Seed})
	}
	switch {
	case req.Persist != nil:
		spec.Persist = *req.Persist
	case spec.Project() != "":
		spec.Persist = sandbox.DefaultPersist()
	}
	for _, c := range req.Cache {
		spec.Cache = append(spec.Cache, sandbox.CachePath(c))
	}
	if w := req.Workspace; w != nil {
		for _, p := range w.Reserve {
			spec.Reserve = append(spec.Reserve, reservedPath(p))
		}
	}
	spec.Upper = req.Upper
}

// reservedPath accepts src/** for src.
func reservedPath(p string) string {
	if p == "**" {
		return "."
	}
	return strings.TrimSuffix(p, "/**")
}

func mountsView(list []sandbox.Mount) []api.Mount {
	var out []api.Mount
	for _, m := range list {
		out = append(out, api.Mount{Source: m.Source, Target: m.Target, Write: m.Write, Seed: m.Seed})
	}
	return out
}

// upperView shows only what is not the default.
func upperView(upper string) string {
	if upper == "disk" {
		return ""
	}
	return upper
}

func cacheRoutes() []route {
	return []route{
		{
			id: "listCaches", method: "GET", path: "/caches", summary: "List the shared package caches",
			status: http.StatusOK, answer: api.List[api.Cache]{}, handle: (*Server).listCaches,
		},
		{
			id: "promoteCaches", method: "POST", path: "/caches/promote", summary: "Make what a sandbox downloaded part of the shared caches",
			body: api.PromoteRequest{}, status: http.StatusOK, answer: api.List[api.Promoted]{}, handle: (*Server).promoteCaches,
		},
		{
			id: "prune", method: "POST", path: "/prune", summary: "Remove everything of a kind that no sandbox uses",
			body: api.PruneRequest{}, status: http.StatusOK, answer: api.Pruned{}, handle: (*Server).prune,
		},
		{
			id: "diskUsage", method: "GET", path: "/df", summary: "What COOP_HOME holds, and what can be reclaimed",
			status: http.StatusOK, answer: api.DiskReport{}, handle: (*Server).diskUsage,
		},
	}
}

func (s *Server) listCaches(w http.ResponseWriter, r *http.Request) error {
	list, err := s.cfg.Engine.Caches(r.Context())
	if err != nil {
		return err
	}
	items := make([]api.Cache, len(list))
	for i, c := range list {
		items[i] = api.Cache{Path: c.Path, Generation: c.Generation, Bytes: c.Bytes, Sandboxes: append([]string{}, c.Sandboxes...)}
	}
	return writeJSON(w, http.StatusOK, api.List[api.Cache]{Items: items, Total: len(items)})
}

func (s *Server) promoteCaches(w http.ResponseWriter, r *http.Request) error {
	var req api.PromoteRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	name, err := checkRef(req.Sandbox)
	if err != nil {
		return err
	}
	list, err := s.cfg.Engine.PromoteCaches(r.Context(), name, req.Replace, actor(r))
	if err != nil {
		return err
	}
	items := make([]api.Promoted, len(list))
	for i, p := range list {
		items[i] = api.Promoted{Path: p.Path, Generation: p.Generation, Added: p.Added, Bytes: p.Bytes, Kept: p.Kept, Refused: []string{}}
		for _, name := range p.Refused {
			shown, _ := text(name)
			items[i].Refused = append(items[i].Refused, shown)
		}
	}
	return writeJSON(w, http.StatusOK, api.List[api.Promoted]{Items: items, Total: len(items)})
}

func (s *Server) diskUsage(w http.ResponseWriter, r *http.Request) error {
	lines, total, err := s.cfg.Engine.DiskUsage(r.Context())
	if err != nil {
		return err
	}
	out := api.DiskReport{Home: s.cfg.Version.Home, Items: make([]api.DiskUsage, len(lines)), TotalBytes: total}
	for i, l := range lines {
		out.Items[i] = api.DiskUsage(l)
	}
	return writeJSON(w, http.StatusOK, out)
}

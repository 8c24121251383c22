package server

import (
	"io"
	"io/fs"
	"net/http"
	"strconv"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/engine"
	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/volume"
)

const (
	maxListed = 100_000 // entries of one list
	maxDepth  = 64
)

func workspaceFileRoutes() []route {
	const files = "/workspaces/{name}/files"
	path := param{name: "path", summary: "path below the workspace", kind: "string", required: true}
	return []route{
		{
			id: "readWorkspaceFile", method: "GET", path: files, summary: "Read a regular file of a named workspace; ranges work",
			query: []param{path}, status: http.StatusOK, answer: octets{}, handle: (*Server).readWorkspaceFile,
		},
		{
			id: "writeWorkspaceFile", method: "PUT", path: files, summary: "Create or replace a regular file in one step",
			query: []param{path, {name: "mode", summary: "octal permissions of a new file, 0644 unless given", kind: "string"}},
			body:  octets{}, status: http.StatusNoContent, handle: (*Server).writeWorkspaceFile,
		},
		{
			id: "deleteWorkspaceFile", method: "DELETE", path: files, summary: "Remove a file or a directory",
			query:  []param{path, {name: "recursive", summary: "1: a directory with everything in it", kind: "string"}},
			status: http.StatusNoContent, handle: (*Server).deleteWorkspaceFile,
		},
		{
			id: "listWorkspaceFiles", method: "GET", path: files + "/list", summary: "List a directory of a named workspace, sorted",
			query: []param{
				{name: "path", summary: "the workspace itself unless given", kind: "string"},
				{name: "depth", summary: "how many levels, 1 unless given", kind: "integer"},
			},
			status: http.StatusOK, answer: api.FileList{}, handle: (*Server).listWorkspaceFiles,
		},
		{
			id: "mkdirWorkspace", method: "POST", path: files + "/mkdir", summary: "Make a directory",
			body: api.MkdirRequest{}, status: http.StatusNoContent, handle: (*Server).mkdirWorkspace,
		},
		{
			id: "renameWorkspaceFile", method: "POST", path: files + "/rename", summary: "Move a file or directory to a free name",
			body: api.RenameRequest{}, status: http.StatusNoContent, handle: (*Server).renameWorkspaceFile,
		},
	}
}

// inWorkspace opens the workspace a path names, for as long as do runs.
func (s *Server) inWorkspace(r *http.Request, do func(*volume.Tree) error) error {
	name, err := nameParam(r, engine.NamedWorkspace)
	if err != nil {
		return err
	}
	t, err := s.cfg.Engine.WorkspaceTree(r.Context(), name)
	if err != nil {
		return err
	}
	defer t.Close()
	return do(t)
}

func (s *Server) readWorkspaceFile(w http.ResponseWriter, r *http.Request) error {
	return s.inWorkspace(r, func(t *volume.Tree) error {
		f, err := t.Open(r.URL.Query().Get("path"))
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		rw := &rangeWriter{ResponseWriter: w}
		http.ServeContent(rw, r, "", info.ModTime(), f)
		return rw.err
	})
}

func (s *Server) writeWorkspaceFile(w http.ResponseWriter, r *http.Request) error {
	mode, err := modeParam(r)
	if err != nil {
		return err
	}
	if r.ContentLength > s.cfg.MaxFileBytes {
		return bodyError(&http.MaxBytesError{Limit: s.cfg.MaxFileBytes})
	}
	body := &stallReader{http.MaxBytesReader(w, r.Body, s.cfg.MaxFileBytes), http.NewResponseController(w)}
	err = s.inWorkspace(r, func(t *volume.Tree) error {
		return t.Write(r.URL.Query().Get("path"), fs.FileMode(mode), func(f io.Writer) error { return copyBody(f, body) })
	})
	if err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) deleteWorkspaceFile(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	err := s.inWorkspace(r, func(t *volume.Tree) error { return t.Remove(q.Get("path"), q.Get("recursive") == "1") })
	if err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) mkdirWorkspace(w http.ResponseWriter, r *http.Request) error {
	var req api.MkdirRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	if err := s.inWorkspace(r, func(t *volume.Tree) error { return t.Mkdir(req.Path, req.Parents) }); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) renameWorkspaceFile(w http.ResponseWriter, r *http.Request) error {
	var req api.RenameRequest
	if err := decodeBody(w, r, maxBody, &req); err != nil {
		return err
	}
	if err := s.inWorkspace(r, func(t *volume.Tree) error { return t.Rename(req.From, req.To) }); err != nil {
		return err
	}
	return noContent(w)
}

func (s *Server) listWorkspaceFiles(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	path, depth := q.Get("path"), 1
	if path == "" {
		path = "."
	}
	if q.Has("depth") {
		n, err := strconv.Atoi(q.Get("depth"))
		if err != nil || n < 1 || n > maxDepth {
			return sandbox.Errorf(sandbox.Invalid, "depth %.32q is not a number from 1 to %d", q.Get("depth"), maxDepth)
		}
		depth = n
	}
	out := api.FileList{Items: []api.FileEntry{}}
	err := s.inWorkspace(r, func(t *volume.Tree) error {
		list, more, err := t.List(r.Context(), path, depth, maxListed)
		for _, e := range list {
			out.Items = append(out.Items, entryOf(e))
		}
		out.Total, out.Truncated = len(list), more
		return err
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, out)
}

func entryOf(e volume.Entry) api.FileEntry {
	out := api.FileEntry{
		Type: typeOf(e.Mode), Mode: strconv.FormatUint(uint64(e.Mode.Perm()), 8), Size: e.Size,
		UID: int64(e.UID), GID: int64(e.GID), ModifiedAt: e.MTime.UTC(),
	}
	out.Path, out.PathBase64 = text(e.Path)
	out.Target, _ = text(e.Target)
	return out
}

func typeOf(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	}
	return kindOf(m)
}

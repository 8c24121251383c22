package server

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"unicode/utf8"

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
	query.Text = detail != "names"
	answer := diffAnswer{full: detail == "full"}
	if err := s.cfg.Engine.Diff(r.Context(), ref, query, answer.add); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, answer.finish())
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

func (s *Server) writePatch(w http.ResponseWriter, r *http.Request, ref string, q engine.DiffQuery) error {
	q.Limits.TotalBytes = patchBytes
	began := false
	begin := func() {
		if !began {
			w.Header().Set("Content-Type", "text/x-diff")
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(http.StatusOK)
			began = true
		}
	}
	out := bufio.NewWriterSize(w, 1<<16)
	var part []byte
	err := s.cfg.Engine.Diff(r.Context(), ref, q, func(_ changes.Change, f patch.File) error {
		begin()
		part = f.Append(part[:0])
		_, err := out.Write(part)
		return err
	})
	if err != nil {
		return err
	}
	begin()
	return out.Flush()
}

// diffAnswer collects the JSON form.
type diffAnswer struct {
	full bool
	out  api.Diff
	text []byte
}

func (d *diffAnswer) add(c changes.Change, f patch.File) error {
	fc := fileChange(c, f)
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			switch l.Op {
			case '+':
				fc.Additions++
			case '-':
				fc.Deletions++
			}
		}
		if d.full {
			fc.Hunks = append(fc.Hunks, hunk(h))
		}
	}
	if d.full {
		d.text = f.Append(d.text)
	}
	d.out.Files = append(d.out.Files, fc)
	d.count(c, fc)
	return nil
}

func (d *diffAnswer) finish() api.Diff {
	if d.out.Files == nil {
		d.out.Files = []api.FileChange{}
	}
	// The text is in the order of a patch, the list in that of the paths.
	sort.SliceStable(d.out.Files, func(i, j int) bool { return rawPath(d.out.Files[i]) < rawPath(d.out.Files[j]) })
	d.out.UnifiedDiff = string(d.text)
	if !utf8.Valid(d.text) {
		d.out.UnifiedDiff, d.out.Encoding = base64.StdEncoding.EncodeToString(d.text), "base64"
	}
	return d.out
}

func rawPath(f api.FileChange) string {
	if f.FilePathBase64 == "" {
		return f.FilePath
	}
	raw, _ := base64.StdEncoding.DecodeString(f.FilePathBase64) // our own
	return string(raw)
}

func (d *diffAnswer) count(c changes.Change, fc api.FileChange) {
	t := &d.out.Totals
	t.Additions += fc.Additions
	t.Deletions += fc.Deletions
	switch fc.Status {
	case "denied":
		t.Denied++
	case "refused":
		t.Refused++
	default:
		t.Pending++
	}
	if len(fc.Flagged) > 0 {
		t.Flagged++
	}
	if c.Dir() {
		t.Directories++
		return
	}
	t.Files++
	*map[changes.Kind]*int{
		changes.Added: &t.Added, changes.Modified: &t.Modified, changes.Deleted: &t.Deleted,
		changes.Renamed: &t.Renamed, changes.ModeOnly: &t.Mode, changes.Type: &t.Type,
	}[c.Kind]++
}

func fileChange(c changes.Change, f patch.File) api.FileChange {
	fc := api.FileChange{
		ChangeType: string(c.Kind), OldMode: octal(c.Old), Mode: octal(c.New), OldSize: c.Old.Size, Size: c.New.Size,
		LinkTarget: c.New.Link, Binary: c.Binary || f.Binary, Large: c.Large, Similarity: c.Similarity,
		Flagged: append([]string{}, c.Flagged...), Status: "pending", Reason: f.Summary, Hunks: []api.Hunk{},
	}
	fc.FilePath, fc.FilePathBase64 = text(c.Path)
	fc.OldPath, fc.OldPathBase64 = text(c.OldPath)
	switch {
	case c.Denied != "":
		fc.Status, fc.Reason = "denied", c.Denied
	case c.Refused != "":
		fc.Status, fc.Reason = "refused", c.Refused
	case fc.Reason == "" && c.Unreadable != "":
		fc.Reason = "unreadable " + c.Unreadable
	}
	return fc
}

// text writes a name as JSON can, and exactly where that is not enough.
func text(name string) (shown, exact string) {
	if utf8.ValidString(name) {
		return name, ""
	}
	return strings.ToValidUTF8(name, "\uFFFD"), base64.StdEncoding.EncodeToString([]byte(name))
}

func hunk(h patch.Hunk) api.Hunk {
	out := api.Hunk{Index: h.Index, ID: h.ID(), Header: h.Header(), Lines: h.Text()}
	for _, l := range out.Lines {
		if !utf8.ValidString(l) {
			out.Encoding = "base64"
		}
	}
	if out.Encoding != "" {
		for i, l := range out.Lines {
			out.Lines[i] = base64.StdEncoding.EncodeToString([]byte(l))
		}
	}
	return out
}

// modeBits are st_mode's for what fs.FileMode has in other places.
var modeBits = [...]struct {
	flag fs.FileMode
	bits uint32
}{
	{fs.ModeDir, 0o040000},
	{fs.ModeSymlink, 0o120000},
	{fs.ModeNamedPipe, 0o010000},
	{fs.ModeSocket, 0o140000},
	{fs.ModeSetuid, 0o4000},
	{fs.ModeSetgid, 0o2000},
	{fs.ModeSticky, 0o1000},
}

// octal is a mode as stat(1) writes it, with its type.
func octal(s changes.State) string {
	if !s.Exists {
		return ""
	}
	bits := uint32(s.Mode.Perm())
	for _, m := range modeBits {
		if s.Mode&m.flag != 0 {
			bits |= m.bits
		}
	}
	switch {
	case s.Mode.IsRegular():
		bits |= 0o100000
	case s.Mode&fs.ModeCharDevice != 0:
		bits |= 0o020000
	case s.Mode&fs.ModeDevice != 0:
		bits |= 0o060000
	}
	return fmt.Sprintf("%06o", bits)
}

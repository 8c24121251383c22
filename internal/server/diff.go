package server

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
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

// diffAnswer writes api.Diff while it is made: a list may have half a million
// files. Only the text is collected, which has a limit of its own.
type diffAnswer struct {
	full   bool
	out    *bufio.Writer
	enc    *json.Encoder
	files  int
	text   bytes.Buffer
	parts  lateText
	totals api.DiffTotals
}

func newDiffAnswer(w http.ResponseWriter, full bool) *diffAnswer {
	d := &diffAnswer{full: full, out: bufio.NewWriterSize(&begun{ResponseWriter: w, kind: "application/json"}, 1<<16)}
	d.enc = json.NewEncoder(d.out)
	d.enc.SetEscapeHTML(false)
	d.parts.out = &d.text
	return d
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
		if err := d.parts.add(c, f); err != nil {
			return err
		}
	}
	d.count(c, fc)
	return d.file(fc)
}

func (d *diffAnswer) file(fc api.FileChange) error {
	lead := ","
	if d.files == 0 {
		lead = `{"files":[`
	}
	d.files++
	if _, err := d.out.WriteString(lead); err != nil {
		return err
	}
	return d.enc.Encode(fc)
}

// finish writes what follows the files: the rest of an api.Diff without any.
func (d *diffAnswer) finish() error {
	if err := d.parts.finish(); err != nil {
		return err
	}
	rest := api.Diff{Files: []api.FileChange{}, UnifiedDiff: d.text.String(), Totals: d.totals}
	if !utf8.Valid(d.text.Bytes()) {
		rest.UnifiedDiff, rest.Encoding = base64.StdEncoding.EncodeToString(d.text.Bytes()), "base64"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(rest); err != nil {
		return err
	}
	text := b.Bytes()
	if d.files > 0 {
		text = bytes.TrimPrefix(text, []byte(`{"files":[`))
	}
	if _, err := d.out.Write(text); err != nil {
		return err
	}
	return d.out.Flush()
}

func (d *diffAnswer) count(c changes.Change, fc api.FileChange) {
	t := &d.totals
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
	out := api.Hunk{Index: h.Index, Header: h.Header(), Lines: h.Text()}
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

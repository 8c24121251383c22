package server

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/changes"
	"github.com/coop-dev/coop/internal/changes/patch"
)

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
	fc.Fingerprint = c.Fingerprint
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

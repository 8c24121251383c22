package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coop-dev/coop/api"
)

// painter writes a diff for people. Names and lines come from inside the sandbox
// and are escaped; the only control sequences are its own colours.
type painter struct {
	w       io.Writer
	colours bool
	err     error
}

// The colours of git diff.
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (p *painter) line(colour, format string, args ...any) {
	if p.err != nil {
		return
	}
	text := escapeTabbed(fmt.Sprintf(format, args...))
	if p.colours && colour != "" {
		text = "\x1b[" + colour + "m" + text + "\x1b[m"
	}
	_, p.err = io.WriteString(p.w, text+"\n")
}

// escapeTabbed is escape for lines of files, in which a tab is nothing unusual.
func escapeTabbed(s string) string {
	parts := strings.Split(s, "\t")
	for i := range parts {
		parts[i] = escape(parts[i])
	}
	return strings.Join(parts, "\t")
}

func (p *painter) diff(d *api.Diff) {
	for _, f := range shown(d.Files) {
		p.line(bold, "%s", title(f))
		p.remarks(f)
		for _, h := range f.Hunks {
			p.line(cyan, "%s", h.Header)
			for _, l := range h.Lines {
				p.hunkLine(l, h.Encoding)
			}
		}
	}
}

func (p *painter) hunkLine(l, encoding string) {
	if encoding == "base64" {
		l = exactName(l, l)
	}
	colour := ""
	switch {
	case strings.HasPrefix(l, "+"):
		colour = green
	case strings.HasPrefix(l, "-"):
		colour = red
	}
	p.line(colour, "%s", l)
}

// remarks are what a person must not overlook, and what takes the place of lines.
func (p *painter) remarks(f api.FileChange) {
	for _, why := range f.Flagged {
		p.line(yellow, "! flagged: %s", why)
	}
	if f.Status != "pending" {
		p.line(yellow, "! %s: %s", f.Status, f.Reason)
		return
	}
	if f.OldMode != "" && f.Mode != "" && f.OldMode != f.Mode {
		p.line("", "mode %s → %s", f.OldMode, f.Mode)
	}
	switch {
	case f.Reason != "":
		p.line("", "not shown: %s (%d bytes)", f.Reason, f.Size)
	case f.Binary:
		p.line("", "binary, %d → %d bytes", f.OldSize, f.Size)
	}
}

func title(f api.FileChange) string {
	name := f.FilePath
	if isDir(f) {
		name += "/"
	}
	if f.OldPath != "" {
		return fmt.Sprintf("%s: %s → %s (%d%%)", f.ChangeType, f.OldPath, name, f.Similarity)
	}
	return f.ChangeType + ": " + name
}

func isDir(f api.FileChange) bool {
	mode := f.Mode
	if mode == "" {
		mode = f.OldMode
	}
	return strings.HasPrefix(mode, "04")
}

// shown leaves directories out that only hold other changes.
func shown(list []api.FileChange) []api.FileChange {
	holds := map[string]bool{}
	for _, f := range list {
		for _, path := range []string{f.FilePath, f.OldPath} {
			for dir := filepath.Dir(path); dir != "." && dir != "/" && !holds[dir]; dir = filepath.Dir(dir) {
				holds[dir] = true
			}
		}
	}
	var out []api.FileChange
	for _, f := range list {
		if isDir(f) && f.ChangeType != "mode" && f.ChangeType != "type" && f.Status == "pending" && holds[f.FilePath] {
			continue
		}
		out = append(out, f)
	}
	return out
}

func (p *painter) names(d *api.Diff) {
	for _, f := range shown(d.Files) {
		name := f.FilePath
		if isDir(f) {
			name += "/"
		}
		p.line("", "%s", name)
	}
}

func (p *painter) stat(d *api.Diff) {
	list := shown(d.Files)
	width := 0
	for _, f := range list {
		width = max(width, len([]rune(escape(title(f)))))
	}
	for _, f := range list {
		t := escape(title(f))
		colour := ""
		if len(f.Flagged) > 0 || f.Status != "pending" {
			colour = yellow
		}
		p.line(colour, "%s%s | %s", t, strings.Repeat(" ", width-len([]rune(t))), counts(f))
	}
	p.line("", "%s", summary(d.Totals))
}

func counts(f api.FileChange) string {
	var c string
	switch {
	case f.Status != "pending":
		return f.Status + ": " + f.Reason
	case f.Reason != "":
		c = f.Reason
	case f.Binary:
		c = "binary"
	case isDir(f):
		c = "directory"
	default:
		c = "+" + strconv.Itoa(f.Additions) + " -" + strconv.Itoa(f.Deletions)
	}
	if len(f.Flagged) > 0 {
		c += "  ! " + strings.Join(f.Flagged, "; ")
	}
	return c
}

func summary(t api.DiffTotals) string {
	s := fmt.Sprintf("%d %s changed, %d %s(+), %d %s(-)", t.Files, plural(t.Files, "file"),
		t.Additions, plural(t.Additions, "insertion"), t.Deletions, plural(t.Deletions, "deletion"))
	for _, n := range []struct {
		n    int
		what string
	}{{t.Directories, directories(t.Directories)}, {t.Flagged, "flagged"}, {t.Denied, "denied"}, {t.Refused, "refused"}} {
		if n.n > 0 {
			s += fmt.Sprintf(", %d %s", n.n, n.what)
		}
	}
	return s
}

func directories(n int) string {
	if n == 1 {
		return "directory"
	}
	return "directories"
}

package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

const askHelp = `y - apply this hunk
n - do not apply this hunk
a - apply this hunk and all later ones of the file
d - apply neither this hunk nor any later one of the file
s - split this hunk into smaller ones where unchanged lines lie between
q - ask no more; what was chosen so far is applied
? - print this`

// ask goes through the hunks one after the other, like git add -p. What is sent
// names each hunk by its id: what was seen is what is applied, or nothing is.
func (o *approveOptions) ask(ctx context.Context, a *app, c *client.Client, ref string, paths []string, req *api.ApproveRequest) (*api.ApproveRequest, error) {
	if !a.canAsk() {
		return nil, &usageError{message: "-i needs a terminal", hint: "use --hunk PATH:N"}
	}
	d, err := c.Diff(ctx, ref, client.DiffOptions{Paths: paths})
	if err != nil {
		return nil, err
	}
	s := &asker{app: a, in: a.streams.In, p: &painter{w: a.streams.Err, colours: a.colours()}, req: req}
	for _, f := range shown(d.Files) {
		if f.Status != "pending" {
			continue
		}
		if err := s.file(ctx, f); err != nil {
			return nil, err
		}
		if s.quit {
			break
		}
	}
	if len(req.Files)+len(req.FilesBase64)+len(req.Hunks) == 0 {
		a.note("nothing chosen")
		return nil, nil
	}
	return req, nil
}

// asker asks about one file after the other.
type asker struct {
	*app
	in   io.Reader
	p    *painter
	req  *api.ApproveRequest
	rest byte // the answer for the rest of the file
	quit bool
}

func (s *asker) file(ctx context.Context, f api.FileChange) error {
	if f.Fingerprint != "" && f.FilePathBase64 == "" { // what was seen is what is applied
		if s.req.Fingerprints == nil {
			s.req.Fingerprints = map[string]string{}
		}
		s.req.Fingerprints[f.FilePath] = f.Fingerprint
	}
	s.p.line(bold, "%s", title(f))
	s.p.remarks(f)
	if len(f.Hunks) == 0 || f.ChangeType == "added" || f.ChangeType == "deleted" {
		return s.whole(ctx, f)
	}
	return s.hunks(ctx, f)
}

// whole asks about a change that comes in one piece.
func (s *asker) whole(ctx context.Context, f api.FileChange) error {
	for _, h := range f.Hunks {
		s.hunk(h)
	}
	answer, err := s.question(ctx, "apply this change", "ynq?")
	if err != nil {
		return err
	}
	switch answer {
	case 'y':
		if f.FilePathBase64 != "" {
			s.req.FilesBase64 = append(s.req.FilesBase64, f.FilePathBase64)
		} else {
			s.req.Files = append(s.req.Files, f.FilePath)
		}
	case 'q':
		s.quit = true
	}
	return nil
}

func (s *asker) hunk(h api.Hunk) {
	s.p.line(cyan, "%s", h.Header)
	for _, l := range h.Lines {
		s.p.hunkLine(l, h.Encoding)
	}
}

func (s *asker) hunks(ctx context.Context, f api.FileChange) error {
	s.rest = 0
	for i, h := range f.Hunks {
		ref := api.HunkRef{FilePath: f.FilePath, FilePathBase64: f.FilePathBase64, Index: h.Index, ID: h.ID}
		letters, parts := "ynadq?", splitHunk(h)
		if len(parts) > 1 {
			letters = "ynadsq?"
		}
		answer, err := s.decide(ctx, h, fmt.Sprintf("apply hunk %d of %d", i+1, len(f.Hunks)), letters)
		if err != nil {
			return err
		}
		if answer == 's' {
			if ref.Parts, err = s.parts(ctx, parts); err != nil {
				return err
			}
		}
		if answer == 'y' || len(ref.Parts) > 0 {
			s.req.Hunks = append(s.req.Hunks, ref)
		}
	}
	return nil
}

// decide shows and asks, unless an earlier answer was for the rest of the file.
func (s *asker) decide(ctx context.Context, h api.Hunk, what, letters string) (byte, error) {
	answer := s.rest
	if answer == 0 {
		s.hunk(h)
		var err error
		if answer, err = s.question(ctx, what, letters); err != nil {
			return 0, err
		}
	}
	switch answer {
	case 'a':
		s.rest, answer = 'y', 'y'
	case 'd':
		s.rest = 'n'
	case 'q':
		s.quit, s.rest = true, 'n'
	}
	return answer, nil
}

// parts asks about the pieces of a hunk.
func (s *asker) parts(ctx context.Context, parts []api.Hunk) ([]int, error) {
	var chosen []int
	for i, p := range parts {
		answer, err := s.decide(ctx, p, fmt.Sprintf("apply part %d of %d", i+1, len(parts)), "ynadq?")
		if err != nil {
			return nil, err
		}
		if answer == 'y' {
			chosen = append(chosen, i)
		}
	}
	return chosen, nil
}

// splitHunk cuts a hunk into its runs of changed lines, each with the unchanged
// ones around it.
func splitHunk(h api.Hunk) []api.Hunk {
	var parts []api.Hunk
	var before, run []string
	for _, l := range h.Lines {
		switch op := signOf(l, h.Encoding); {
		case op == '+' || op == '-' || (op == '\\' && len(run) > 0):
			run = append(run, l)
			continue
		case len(run) > 0:
			parts = append(parts, api.Hunk{Header: h.Header, Encoding: h.Encoding, Lines: append(before, run...)})
			before, run = nil, nil
			fallthrough
		default:
			if n := len(parts); n > 0 && len(before) == 0 {
				parts[n-1].Lines = append(parts[n-1].Lines, l)
			}
			before = append(before, l)
		}
	}
	if len(run) > 0 {
		parts = append(parts, api.Hunk{Header: h.Header, Encoding: h.Encoding, Lines: append(before, run...)})
	}
	return parts
}

// signOf is the first character of a line: blank, +, - or \.
func signOf(l, encoding string) byte {
	if encoding == "base64" {
		if raw, err := base64.StdEncoding.DecodeString(l); err == nil {
			l = string(raw)
		}
	}
	if l == "" {
		return ' '
	}
	return l[0]
}

// question asks until the answer is one of the letters.
func (s *asker) question(ctx context.Context, what, letters string) (byte, error) {
	for {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if _, err := fmt.Fprintf(s.streams.Err, "%s [%s]? ", what, strings.Join(strings.Split(letters, ""), ",")); err != nil {
			return 0, err
		}
		line, err := readAnswer(s.in)
		if err != nil {
			return 0, err
		}
		switch {
		case line == "?":
			s.p.line("", "%s", "")
			for _, l := range strings.Split(askHelp, "\n") {
				s.p.line("", "%s", l)
			}
		case len(line) == 1 && strings.Contains(letters, line):
			return line[0], nil
		}
	}
}

// readAnswer reads one line byte by byte: what follows it is another answer's.
func readAnswer(in io.Reader) (string, error) {
	var line []byte
	one := make([]byte, 1)
	for len(line) < 256 {
		n, err := in.Read(one)
		if n == 1 && one[0] == '\n' {
			break
		}
		if n == 1 {
			line = append(line, one[0])
		}
		if err != nil {
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return "q", nil // the end of input ends the questions
			}
			return string(line), nil
		}
	}
	return strings.TrimSpace(string(line)), nil
}

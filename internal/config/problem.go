package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coop-dev/coop/api"
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	File         string
	Line, Column int // counted from 1; 0 is about the whole file
	Message      string
	Hint         string
}

// String is the line a person sees, without the hint.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Error is everything that is wrong, in the order of the files. Code is one of
// the API's: invalid, or unsupported for what is right and not there yet.
type Error struct {
	Code     string
	Problems []Problem
}

// Error puts all of it on one line, for those who cannot show several.
func (e *Error) Error() string {
	all := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		all[i] = p.String()
	}
	return strings.Join(all, "; ")
}

// Hint is the first one there is.
func (e *Error) Hint() string {
	for _, p := range e.Problems {
		if p.Hint != "" {
			return p.Hint
		}
	}
	return ""
}

// maxProblems bounds what a file full of mistakes makes a person read.
const maxProblems = 20

// problems collects. What is past any reading is only counted.
type problems struct {
	list []Problem
	more int
}

const maxCollected = 1000

func (ps *problems) add(at place, format string, args ...any) *Problem {
	if len(ps.list) >= maxCollected {
		ps.more++
		return &Problem{}
	}
	ps.list = append(ps.list, Problem{File: at.file.name, Line: at.line, Column: at.column, Message: fmt.Sprintf(format, args...)})
	return &ps.list[len(ps.list)-1]
}

// refuse adds what a check said about the value at a place.
func (ps *problems) refuse(at place, key string, err error) {
	p := ps.add(at, "%s: %s", key, err)
	if h, ok := err.(*hinted); ok {
		p.Hint = h.hint
	}
}

// err is nil when there are none.
func (ps *problems) err() error { return ps.coded(api.CodeInvalid) }

func (ps *problems) coded(code string) error {
	if len(ps.list) == 0 {
		return nil
	}
	var files []string
	for _, p := range ps.list {
		files = append(files, p.File)
	}
	// A table may stand in several parts of a file; people read from the top.
	slices.SortStableFunc(ps.list, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(slices.Index(files, a.File), slices.Index(files, b.File)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if extra := len(ps.list) + ps.more - maxProblems; extra > 0 {
		last := ps.list[maxProblems]
		ps.list = append(ps.list[:maxProblems], Problem{File: last.File, Message: fmt.Sprintf("%d more mistakes", extra)})
	}
	return &Error{Code: code, Problems: ps.list}
}

// hinted is a check's error with what to write instead.
type hinted struct{ message, hint string }

func (h *hinted) Error() string { return h.message }

func withHint(hint, format string, args ...any) error {
	return &hinted{message: fmt.Sprintf(format, args...), hint: hint}
}

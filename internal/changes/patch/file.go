// Package patch writes differences as text that git apply and patch(1) accept
// byte for byte: git's extended headers, C-quoted names, hunks, binary patches.
// It works on bytes alone and knows nothing of files on disk.
//
// Invariant: applying all hunks of a file to its old content gives exactly the
// new content, whatever the bytes are; its time is bounded for any input.
package patch

// Mode is a git file mode: 0100644, 0100755, 0120000; 0 when there is no file.
type Mode uint32

// File is one file's difference.
type File struct {
	OldPath, NewPath string // raw bytes, relative; equal unless renamed
	OldMode, NewMode Mode
	Similarity       int    // renames: percent
	Old, New         []byte // contents; a link's is its target
	Binary           bool   // write a GIT binary patch instead of hunks
	Summary          string // instead of any content: why it is left out ("too large")
	Hunks            []Hunk
}

// Hunk is one run of changed lines with its context. Index counts from 0 within
// its file and is stable as long as neither side's content changes.
type Hunk struct {
	Index              int
	OldStart, OldLines int // as in the header: from 1, or 0 for an empty side
	NewStart, NewLines int
	Lines              []Line
}

// Line is one line of a hunk with its line ending, if it has one.
type Line struct {
	Op   byte // ' ', '-', '+'
	Text string
}

// Diff computes the hunks from old to new, with three lines of context.
func Diff(old, new []byte) []Hunk { panic("soon") }

// Header is the hunk's "@@ -a,b +c,d @@".
func (h Hunk) Header() string { panic("soon") }

// Apply applies those hunks that pick chooses to old. Hunks that are not chosen
// leave their part of old as it is.
func Apply(old []byte, hunks []Hunk, pick func(index int) bool) ([]byte, error) { panic("soon") }

// Append appends the file's part of a patch.
func (f File) Append(b []byte) []byte { panic("soon") }

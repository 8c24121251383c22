// Package patch writes differences as text that git apply and patch(1) accept
// byte for byte: git's extended headers, C-quoted names, hunks, binary patches.
// It works on bytes alone and knows nothing of files on disk.
//
// Invariant: applying all hunks of a file to its old content gives exactly the
// new content, whatever the bytes are; the time this takes is bounded for any
// input, at the price of longer hunks.
package patch

// Mode is a git file mode; 0 when there is no file.
type Mode uint32

// The modes git knows for what can be in a patch.
const (
	Regular    Mode = 0o100644
	Executable Mode = 0o100755
	Symlink    Mode = 0o120000
)

func (m Mode) sameType(o Mode) bool { return m>>12 == o>>12 }

// File is one file's difference.
type File struct {
	OldPath, NewPath string // raw bytes, relative; equal unless renamed
	OldMode, NewMode Mode
	Similarity       int    // renames: percent
	Old, New         []byte // contents; a link's is its target
	Binary           bool   // written as a GIT binary patch instead of hunks
	Summary          string // instead of any content: why it is left out ("too large")
	Hunks            []Hunk // of Diff(Old, New)
}

// Hunk is one run of changed lines with its context. Index counts from 0 within
// its file and is stable as long as neither side's content changes.
type Hunk struct {
	Index              int
	OldStart, OldLines int // as in the header: from 1; the line before for an empty side
	NewStart, NewLines int
	Lines              []Line
}

// Line is one line of a hunk with its line ending, if it has one.
type Line struct {
	Op   byte // ' ', '-', '+'
	Text string
}

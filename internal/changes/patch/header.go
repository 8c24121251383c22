package patch

import (
	"crypto/sha1" //nolint:gosec // git names its blobs so
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Append appends the file's part of a patch; nothing for a difference that git
// has no words for (0644 to 0600).
func (f File) Append(b []byte) []byte {
	if f.OldMode == 0 && f.NewMode == 0 && f.Summary == "" {
		return b // a directory
	}
	if f.apart() {
		gone, made := f.halves()
		return made.Append(gone.Append(b))
	}
	if f.Summary != "" {
		return fmt.Appendf(b, "Not in this patch: %s (%s)\n", quoteAlways(f.name()), f.Summary)
	}
	same := f.same()
	if same && f.OldPath == f.NewPath && f.OldMode == f.NewMode {
		return b
	}
	b = f.appendHeader(b)
	if same {
		return b
	}
	b = f.appendIndex(b)
	if f.Binary {
		return appendBinary(b, f.Old, f.New)
	}
	return f.appendHunks(b)
}

// same reports whether there is no content to write. What is made or removed has
// content even when it is empty: git writes the name of the empty blob.
func (f File) same() bool {
	return f.OldMode != 0 && f.NewMode != 0 && string(f.Old) == string(f.New)
}

func (f File) name() string {
	if f.NewMode == 0 {
		return f.OldPath
	}
	return f.NewPath
}

// apart reports what is written as one file removed and another made: for git a
// file that became a link or the reverse, and for patch(1) a renamed link, because
// the header of a rename does not say that it is one.
func (f File) apart() bool {
	return f.OldMode != 0 && f.NewMode != 0 && (!f.OldMode.sameType(f.NewMode) || (f.NewMode == Symlink && f.OldPath != f.NewPath))
}

func (f File) halves() (gone, made File) {
	gone, made = f, f
	gone.NewPath, gone.NewMode, gone.New = f.OldPath, 0, nil
	made.OldPath, made.OldMode, made.Old = f.NewPath, 0, nil
	if f.Binary || f.Summary != "" {
		return gone, made
	}
	gone.Hunks, made.Hunks = Diff(f.Old, nil), Diff(nil, f.New)
	return gone, made
}

func (f File) appendHeader(b []byte) []byte {
	name := quote
	if len(f.Hunks) == 0 && strings.Contains(f.OldPath+f.NewPath, " ") {
		// git writes blanks as they are; patch(1) then finds the names only in the
		// "---" and "+++" lines, which come with hunks.
		name = quoteAlways
	}
	b = append(b, "diff --git "+name("a/"+f.OldPath)+" "+name("b/"+f.NewPath)+"\n"...)
	switch {
	case f.OldMode == 0:
		b = fmt.Appendf(b, "new file mode %06o\n", f.NewMode)
	case f.NewMode == 0:
		b = fmt.Appendf(b, "deleted file mode %06o\n", f.OldMode)
	case f.OldMode != f.NewMode:
		b = fmt.Appendf(b, "old mode %06o\nnew mode %06o\n", f.OldMode, f.NewMode)
	}
	if f.OldPath != f.NewPath {
		b = fmt.Appendf(b, "similarity index %d%%\nrename from %s\nrename to %s\n", f.Similarity, quote(f.OldPath), quote(f.NewPath))
	}
	return b
}

// appendIndex names the blobs. git wants them whole for binary patches and finds
// the base of a three-way merge by them.
func (f File) appendIndex(b []byte) []byte {
	b = append(b, "index "+blob(f.OldMode, f.Old)+".."+blob(f.NewMode, f.New)...)
	if f.OldMode == f.NewMode {
		b = fmt.Appendf(b, " %06o", f.NewMode)
	}
	return append(b, '\n')
}

func blob(m Mode, content []byte) string {
	if m == 0 {
		return "0000000000000000000000000000000000000000"
	}
	h := sha1.New() //nolint:gosec // git names its blobs so
	h.Write([]byte("blob " + strconv.Itoa(len(content)) + "\x00"))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

func (f File) appendHunks(b []byte) []byte {
	if len(f.Hunks) == 0 {
		return b
	}
	from, to := "/dev/null", "/dev/null"
	if f.OldMode != 0 {
		from = label("a/" + f.OldPath)
	}
	if f.NewMode != 0 {
		to = label("b/" + f.NewPath)
	}
	b = append(b, "--- "+from+"\n+++ "+to+"\n"...)
	for _, h := range f.Hunks {
		b = h.append(b)
	}
	return b
}

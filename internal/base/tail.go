package base

import (
	"bytes"
	"io"
	"strings"
)

// What is kept of a step's output, whatever it writes.
const (
	tailBytes = 8 << 10
	tailLines = 20
	maxLog    = 16 << 20
)

// Output goes to a log, bounded, and its end is remembered for the message of a
// step that fails. It is for one goroutine at a time.
type Output struct {
	Log  io.Writer
	Note func(error) // of a log that cannot be written

	written int64
	end     []byte
}

// Write never fails: a log that cannot be written must not end a build.
func (o *Output) Write(p []byte) (int, error) {
	if room := maxLog - o.written; o.Log != nil && room > 0 {
		n, err := o.Log.Write(p[:min(int64(len(p)), room)])
		o.written += int64(n)
		if err != nil {
			o.Log = nil
			o.Note(err)
		}
	}
	o.end = append(o.end, p...)
	if len(o.end) > 2*tailBytes {
		o.end = bytes.Clone(o.end[len(o.end)-tailBytes:])
	}
	return len(p), nil
}

// Begin forgets the end of the step before.
func (o *Output) Begin() { o.end = nil }

// LastLines is the end of the output, as text.
func (o *Output) LastLines() []string {
	text := strings.ToValidUTF8(string(o.end[max(0, len(o.end)-tailBytes):]), "\ufffd")
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	return lines[max(0, len(lines)-tailLines):]
}

// Package screen keeps what a terminal shows: it reads the output of a program
// as a terminal would and can say at any byte what is on the screen.
package screen

// Screen is the state of one terminal. It is not safe for concurrent use.
type Screen struct {
	cols, rows int
}

// New returns an empty screen.
func New(cols, rows int) *Screen { return &Screen{cols: cols, rows: rows} }

// Write feeds output of the program. It never panics and never blocks.
func (s *Screen) Write(p []byte) {}

// Resize changes the size as a terminal does, without reflow.
func (s *Screen) Resize(cols, rows int) { s.cols, s.rows = cols, rows }

// Size returns the columns and rows.
func (s *Screen) Size() (cols, rows int) { return s.cols, s.rows }

// Snapshot returns what has to be written to a terminal of the same size to
// make it show this screen; live output may follow directly.
func (s *Screen) Snapshot() []byte { return nil }

// Title is the window title the program asked for, made safe to print.
func (s *Screen) Title() string { return "" }

// Text is the visible screen as plain text, one line a row.
func (s *Screen) Text() string { return "" }

// Faults counts the writes that the emulator failed on.
func (s *Screen) Faults() int { return 0 }

// Save returns a checkpoint that Load turns into an equal screen.
func (s *Screen) Save() []byte { return nil }

// Load reads a checkpoint made by Save.
func Load(b []byte) (*Screen, error) { return New(80, 24), nil }

// Diff says how two screens differ, empty if they do not.
func Diff(a, b *Screen) string { return "" }

// Leave returns what brings a viewer's terminal back to its defaults when it
// stops showing a screen.
func Leave() []byte { return nil }

// Sanitizer makes output safe to show later: text, line ends and colours stay.
// The zero value is ready; chunks may be cut anywhere.
type Sanitizer struct{}

// Append appends the safe form of src to dst.
func (z *Sanitizer) Append(dst, src []byte) []byte { return append(dst, src...) }

// Sanitize appends the safe form of a whole output to dst.
func Sanitize(dst, src []byte) []byte { var z Sanitizer; return z.Append(dst, src) }

package terminal

// Pty is the output and input of one terminal as PID 1 keeps it, so that it
// outlives the daemon. launch.Terminal implements it; tests use a fake.
//
// Output is a stream of bytes with absolute offsets that start at 0 when PID 1
// opened the terminal and go on when another program is started on it. PID 1
// keeps what was not acknowledged and, past at least a megabyte, lets the
// program wait.
type Pty interface {
	// ReadAt copies bytes from offset off on. It blocks until there is at least
	// one; io.EOF means that the present program has ended and all it wrote was
	// read (a later program on the same terminal goes on at the same offset).
	ReadAt(p []byte, off uint64) (int, error)
	// Ack says that everything before off is stored: it may be overwritten.
	Ack(off uint64)
	// Write is input. It must not block for ever: a program that does not read
	// its terminal fills the kernel's buffer, and then Write returns what it
	// could write with ErrFull.
	Write(p []byte) (int, error)
	// Resize sets the window size; the kernel tells the program (SIGWINCH).
	Resize(cols, rows int) error
	// Stream names the life of PID 1 these offsets belong to: another name means
	// that offsets have begun at 0 again.
	Stream() string
	// Close lets go of it without ending anything and wakes a blocked ReadAt.
	Close() error
}

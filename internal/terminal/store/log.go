package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

const (
	// minSegment keeps the work of beginning a segment small against that of
	// filling it.
	minSegment  = 1 << 20
	maxSegments = 64
	maxEvents   = 4096
)

// Log is the log of one terminal. It is used by one goroutine at a time.
type Log struct {
	root     *os.Root
	keep     int64 // bytes always kept, if there were so many
	segments []segment
	file     *os.File // the newest segment; nil before the first Begin
	events   *os.File
	noted    int64 // length of the events
	damage   []string
}

// Open makes the directory if need be and finds what an earlier process left.
// A segment whose header cannot be read is set aside and named by Damaged: the
// host crashed while it was made.
func Open(dir string, keep int64) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	l := &Log{root: root, keep: keep}
	if err := l.recover(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Log) recover() error {
	if err := l.scan(); err != nil {
		return err
	}
	if len(l.segments) == 0 {
		return nil
	}
	return l.openNewest()
}

// scan reads the headers of all segments.
func (l *Log) scan() error {
	entries, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			_ = l.root.Remove(e.Name()) // in the way of nobody
			continue
		}
		if _, ok := baseOf(e.Name()); !ok {
			continue
		}
		s, err := l.inspect(e.Name())
		switch {
		case errors.Is(err, errDamaged):
			l.damage = append(l.damage, e.Name())
			_ = l.root.Rename(e.Name(), e.Name()+".damaged") // tried again at the next start
		case err != nil:
			return err
		default:
			l.segments = append(l.segments, s)
		}
	}
	slices.SortFunc(l.segments, func(a, b segment) int { return cmp.Compare(a.Base, b.Base) })
	return nil
}

func (l *Log) inspect(name string) (segment, error) {
	f, err := l.root.Open(name)
	if err != nil {
		return segment{}, err
	}
	defer f.Close()
	s, err := readStart(f)
	if base, _ := baseOf(name); err == nil && base != s.Base {
		err = errDamaged
	}
	s.State = nil
	return s, err
}

func (l *Log) openNewest() (err error) {
	base := l.newest().Base
	l.file, err = l.root.OpenFile(segmentName(base), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	l.events, err = l.root.OpenFile(eventsName(base), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, l.noted, err = readEvents(l.events)
	return err
}

func (l *Log) newest() *segment { return &l.segments[len(l.segments)-1] }

// Damaged names the segments that could not be read.
func (l *Log) Damaged() []string { return l.damage }

// Empty reports whether there is no segment yet.
func (l *Log) Empty() bool { return len(l.segments) == 0 }

// End is the offset after the last byte that is stored.
func (l *Log) End() uint64 {
	if l.Empty() {
		return 0
	}
	return l.newest().end()
}

// Stream is the newest segment's, and the offset there of the next byte.
func (l *Log) Stream() (name string, next uint64) {
	if l.Empty() {
		return "", 0
	}
	s := l.newest()
	return s.Stream, s.StreamAt + uint64(s.size)
}

// Append stores p at the end. On an error it reports how much it stored, and
// the rest may be tried again.
func (l *Log) Append(p []byte) (int, error) {
	n, err := l.file.Write(p)
	l.newest().size += int64(max(n, 0))
	return n, err
}

// Note stores an event that takes place now, at the end of what is stored.
func (l *Log) Note(e Event) error {
	e.At = l.End()
	if _, err := l.events.WriteAt(e.encode(), l.noted); err != nil {
		return err
	}
	l.noted += eventSize
	return nil
}

// ReadAt copies stored bytes from offset off of the log on; 0: there are none
// yet. at is where they begin, past off when what was there is gone.
func (l *Log) ReadAt(p []byte, off uint64) (n int, at uint64, err error) {
	for _, s := range l.segments {
		if off >= s.end() || s.size == 0 {
			continue
		}
		at = max(off, s.Base)
		f, err := l.root.Open(segmentName(s.Base))
		if err != nil {
			return 0, at, err
		}
		defer f.Close()
		n, err = f.ReadAt(p[:min(uint64(len(p)), s.end()-at)], s.head+int64(at-s.Base))
		if err == io.EOF {
			err = nil
		}
		return n, at, err
	}
	return 0, off, nil
}

// Full reports whether it is time for another segment.
func (l *Log) Full() bool {
	return l.Empty() || l.newest().size >= max(l.keep, minSegment) || l.noted >= maxEvents*eventSize
}

// Begin starts a segment at the end of what is stored. s.Base is set here; the
// state is the screen's at exactly this place. What is not needed any more goes
// first: on a full disk that is the room for the new one.
func (l *Log) Begin(s Start) error {
	s.Base = l.End()
	l.prune()
	if !l.Empty() && l.newest().size == 0 {
		return l.replace(s)
	}
	return l.begin(s)
}

// replace gives an empty segment another beginning.
func (l *Log) replace(s Start) error {
	old := l.segments
	l.segments = old[:len(old)-1]
	if err := l.begin(s); err != nil {
		l.segments = old
		return err
	}
	return nil
}

func (l *Log) begin(s Start) error {
	head, err := encodeStart(s)
	if err != nil {
		return err
	}
	tmp := segmentName(s.Base) + ".tmp"
	f, err := l.root.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(head); err != nil {
		return errors.Join(err, f.Close(), l.root.Remove(tmp))
	}
	// Events are made first, and emptied: a file of that name can only stem from
	// a segment of the same base that never held a byte.
	events, err := l.root.OpenFile(eventsName(s.Base)+".tmp", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return errors.Join(err, f.Close(), l.root.Remove(tmp))
	}
	if err := errors.Join(l.root.Rename(eventsName(s.Base)+".tmp", eventsName(s.Base)), l.root.Rename(tmp, segmentName(s.Base))); err != nil {
		return errors.Join(err, f.Close(), events.Close())
	}
	l.closeFiles()
	l.file, l.events, l.noted = f, events, 0
	s.State = nil
	l.segments = append(l.segments, segment{Start: s, head: int64(len(head))})
	return nil
}

// prune removes the oldest segments as long as the others hold enough.
func (l *Log) prune() {
	total := int64(0)
	for _, s := range l.segments {
		total += s.size
	}
	for len(l.segments) > 1 && (total-l.segments[0].size >= l.keep || len(l.segments) >= maxSegments) {
		_ = l.root.Remove(segmentName(l.segments[0].Base)) // tried again when the log is opened
		_ = l.root.Remove(eventsName(l.segments[0].Base))
		total -= l.segments[0].size
		l.segments = l.segments[1:]
	}
}

// Clear removes everything that is stored.
func (l *Log) Clear() error {
	l.closeFiles()
	for len(l.segments) > 0 {
		base := l.segments[0].Base
		if err := l.root.Remove(segmentName(base)); err != nil {
			return err
		}
		_ = l.root.Remove(eventsName(base)) // not there in a log that a crash cut short
		l.segments = l.segments[1:]
	}
	return nil
}

// Replay gives the newest segment's state, then its output and events in the
// order in which they took place.
func (l *Log) Replay(start func(Start) error, output func([]byte), event func(Event)) error {
	if l.Empty() {
		return nil
	}
	s, err := readStart(l.file)
	if err != nil {
		return fmt.Errorf("segment %d: %w", l.newest().Base, err)
	}
	if err := start(s.Start); err != nil {
		return err
	}
	events, _, err := readEvents(l.events)
	if err != nil {
		return err
	}
	at := s.Base
	for _, e := range events {
		if e.At < at || e.At > s.end() {
			break // damaged: the rest cannot be placed
		}
		if err := l.pass(s, at, e.At, output); err != nil {
			return err
		}
		event(e)
		at = e.At
	}
	return l.pass(s, at, s.end(), output)
}

func (l *Log) pass(s segment, from, to uint64, output func([]byte)) error {
	r := io.NewSectionReader(l.file, s.head+int64(from-s.Base), int64(to-from))
	buf := make([]byte, min(256<<10, int(to-from)))
	for from < to {
		n, err := r.Read(buf)
		if n > 0 {
			output(buf[:n])
			from += uint64(n)
		}
		if err != nil && from < to {
			return err
		}
	}
	return nil
}

func (l *Log) closeFiles() {
	for _, f := range []*os.File{l.file, l.events} {
		_ = f.Close() // nothing is buffered; a nil file says so
	}
	l.file, l.events = nil, nil
}

// Close may be called twice.
func (l *Log) Close() error {
	l.closeFiles()
	return l.root.Close()
}

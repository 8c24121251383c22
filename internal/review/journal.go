package review

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A journal is a file of lines, each a checksum, a word and JSON. It is written
// ahead: a line is on disk before what it announces is done.
//
//	last line  the project                            recovery
//	(none)     untouched                              nothing to do
//	begin      may have staged entries                removes them
//	staged     may have some entries swapped          swaps them back, then as above
//	done       is as approved; replaced entries wait  removes those: completed
//
// A line that is torn was never acted upon.
const (
	wordBegin  = "begin"
	wordStaged = "staged"
	wordDone   = "done"
)

// begun is the first line: everything that will be done, by name, so that
// nothing is ever made that recovery does not know of.
type begun struct {
	Project string          `json:"project"` // absolute, for the recovery to open
	Ino     uint64          `json:"ino"`     // of the project's directory
	Dirs    []dirNote       `json:"dirs"`
	Ops     []op            `json:"ops"`
	Note    json.RawMessage `json:"note,omitempty"` // the caller's, given back by recovery
}

// dirNote is a directory that entries change in. Names are raw bytes, which
// JSON strings cannot hold; as []byte they are base64.
type dirNote struct {
	Path  []byte    `json:"path"`
	Dev   uint64    `json:"dev"`
	Ino   uint64    `json:"ino"`
	MTime time.Time `json:"mtime"` // set again when everything is undone
}

// opKind says how an operation changes the project.
type opKind string

const (
	opPut    opKind = "put"    // Tmp takes the place of Name; what was there waits at Tmp, or at Old
	opRemove opKind = "remove" // Name becomes Old
	opChmod  opKind = "chmod"  // Name gets other permissions
)

// op is one step of the swap; all of them are independent of each other.
type op struct {
	Kind opKind `json:"kind"`
	Dir  int    `json:"dir"` // index into Dirs
	Name []byte `json:"name"`
	Tmp  string `json:"tmp,omitempty"`
	Old  string `json:"old,omitempty"`
	Had  bool   `json:"had,omitempty"` // there is something to be replaced or removed
	Ino  uint64 `json:"ino,omitempty"` // of that
	Perm uint32 `json:"perm,omitempty"`
	Was  uint32 `json:"was,omitempty"` // chmod: the permissions before
}

// staged is the second line: the inode of each op's staged entry, by which
// recovery tells a swapped entry from one that is not.
type staged struct {
	Inos []uint64 `json:"inos"`
}

// journal is the file while a request is applied.
type journal struct {
	file *os.File
	path string
}

// errBusy says that an earlier journal waits for its recovery.
var errBusy = errors.New("a journal is there already")

func createJournal(path string) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: %s", errBusy, path)
	}
	if err != nil {
		return nil, err
	}
	return &journal{file: f, path: path}, nil
}

// append writes a line and returns when it is on disk.
func (j *journal) append(word string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line := fmt.Appendf(nil, "%s %s\n", word, body)
	if _, err := j.file.Write(fmt.Appendf(nil, "%08x %s", crc32.ChecksumIEEE(line), line)); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("write journal: %w", err)
	}
	if word == wordBegin { // the file's own name must be on disk too
		return syncDir(filepath.Dir(j.path))
	}
	return nil
}

func (j *journal) close() { _ = j.file.Close() } // every line was synced

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// forget removes a journal whose story has ended.
func forget(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// story is a journal read back.
type story struct {
	begun
	staged *staged
	done   bool
}

// readJournal gives what is readable of a journal; nil when nothing was begun.
func readJournal(path string) (*story, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var s *story
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return s, nil // the end, or a torn line
		}
		word, body, ok := checkLine(line)
		if !ok {
			return s, nil
		}
		if s, err = s.add(word, body); err != nil {
			return nil, fmt.Errorf("journal %s: %w", path, err)
		}
	}
}

func checkLine(line []byte) (word string, body []byte, ok bool) {
	sum, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(rest)) {
		return "", nil, false
	}
	first, body, ok := bytes.Cut(rest, []byte(" "))
	return string(first), body, ok
}

func (s *story) add(word string, body []byte) (*story, error) {
	switch {
	case word == wordBegin && s == nil:
		s = &story{}
		if err := json.Unmarshal(body, &s.begun); err != nil {
			return nil, err
		}
		return s, s.check()
	case word == wordStaged && s != nil:
		s.staged = &staged{}
		if err := json.Unmarshal(body, s.staged); err != nil {
			return nil, err
		}
		if len(s.staged.Inos) != len(s.Ops) {
			return nil, errors.New("its lines contradict each other")
		}
		return s, nil
	case word == wordDone && s != nil && s.staged != nil:
		s.done = true
		return s, nil
	}
	return nil, fmt.Errorf("unexpected line %.16q", word)
}

// check refuses names that are no names: a journal is ours, but it is read by
// the code that removes files.
func (s *story) check() error {
	for _, o := range s.Ops {
		if o.Dir < 0 || o.Dir >= len(s.Dirs) || !component(string(o.Name)) {
			return errors.New("an operation without a place")
		}
		for _, name := range []string{o.Tmp, o.Old} {
			if name != "" && (!component(name) || !strings.HasPrefix(name, tmpPrefix)) {
				return errors.New("a temporary name that is none of ours")
			}
		}
	}
	return nil
}

func component(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00")
}

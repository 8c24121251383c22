package server

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"sync"
)

// decodeQuick decodes a body that is nothing but ordinary: an object whose
// members are all known, stand there once, and are strings, booleans, whole
// numbers, lists or maps of strings. It reports false for everything else, right
// or wrong, and leaves that to checkValue, which takes some twenty microseconds
// to find the words: as much as waking a process.
func decodeQuick(b []byte, v any) bool {
	w := walker{rest: b}
	if !w.object(shapeOf(reflect.TypeOf(v).Elem())) || len(w.rest) != 0 {
		return false
	}
	return json.Unmarshal(b, v) == nil // not so for what the walker does not look at: escapes, ranges
}

// shape is what the walker knows of a struct: the JSON names of its plain
// fields and a character for what each may be.
type shape map[string]byte

const (
	aString  = 's'
	aBool    = 'b'
	aNumber  = 'n'
	aStrings = 'l'
	aMap     = 'm'
)

var shapes sync.Map // of reflect.Type to shape; a cache

func shapeOf(t reflect.Type) shape {
	if s, ok := shapes.Load(t); ok {
		return s.(shape)
	}
	s := shape{}
	for i := range t.NumField() {
		if kind := plainKind(t.Field(i).Type); kind != 0 {
			s[jsonName(t.Field(i))] = kind
		}
	}
	shapes.Store(t, s)
	return s
}

// plainKind is 0 for a type that is not plain. Exact types only: a named one may
// decode itself.
func plainKind(t reflect.Type) byte {
	switch t {
	case reflect.TypeFor[string]():
		return aString
	case reflect.TypeFor[bool]():
		return aBool
	case reflect.TypeFor[int](), reflect.TypeFor[int64]():
		return aNumber
	case reflect.TypeFor[[]string](), reflect.TypeFor[*[]string]():
		return aStrings
	case reflect.TypeFor[map[string]string]():
		return aMap
	}
	return 0
}

// walker goes through a JSON text. Each method takes one thing off its front, and
// the white space behind it, and reports whether it was there.
type walker struct{ rest []byte }

func (w *walker) object(s shape) bool {
	return w.members(func(key []byte) bool {
		switch s[string(key)] {
		case aString:
			return w.text()
		case aBool:
			return w.word("true") || w.word("false")
		case aNumber:
			return w.number()
		case aStrings:
			return w.list()
		case aMap:
			return w.members(func([]byte) bool { return w.text() })
		}
		return false
	})
}

// maxMembers is how many members of an object are compared with each other.
const maxMembers = 16

func (w *walker) members(value func(key []byte) bool) bool {
	w.space()
	if !w.word("{") {
		return false
	}
	var seen [maxMembers][]byte
	for n := 0; ; n++ {
		if n == 0 && w.word("}") {
			return true
		}
		key, ok := w.key()
		if !ok || n == maxMembers || slices.ContainsFunc(seen[:n], func(k []byte) bool { return bytes.Equal(k, key) }) {
			return false
		}
		seen[n] = key
		if !w.word(":") || !value(key) {
			return false
		}
		if w.word("}") {
			return true
		}
		if !w.word(",") {
			return false
		}
	}
}

func (w *walker) list() bool {
	if !w.word("[") {
		return false
	}
	if w.word("]") {
		return true
	}
	for w.text() {
		if w.word("]") {
			return true
		}
		if !w.word(",") {
			return false
		}
	}
	return false
}

// key is a string without escapes: two that differ are then different keys.
func (w *walker) key() ([]byte, bool) {
	before := w.rest
	if !w.text() {
		return nil, false
	}
	key := before[1 : 1+bytes.IndexByte(before[1:], '"')]
	return key, bytes.IndexByte(key, '\\') < 0
}

func (w *walker) text() bool {
	if len(w.rest) == 0 || w.rest[0] != '"' {
		return false
	}
	for i := 1; i < len(w.rest); i++ {
		switch w.rest[i] {
		case '\\':
			i++
		case '"':
			w.rest = w.rest[i+1:]
			w.space()
			return true
		}
	}
	return false
}

func (w *walker) number() bool {
	i := 0
	for i < len(w.rest) && (w.rest[i] == '-' || '0' <= w.rest[i] && w.rest[i] <= '9') {
		i++
	}
	w.rest = w.rest[i:]
	w.space()
	return i > 0
}

func (w *walker) word(s string) bool {
	if !bytes.HasPrefix(w.rest, []byte(s)) {
		return false
	}
	w.rest = w.rest[len(s):]
	w.space()
	return true
}

func (w *walker) space() { w.rest = bytes.TrimLeft(w.rest, " \t\r\n") }

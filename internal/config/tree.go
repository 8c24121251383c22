package config

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// source is one file.
type source struct {
	name string // as messages show it
	dir  string // what relative paths in it are relative to
}

// place is where something stands in a file.
type place struct {
	file         *source
	line, column int
}

type kind int

const (
	aTable kind = iota
	aList
	aString
	anInteger
	aFloat
	aBool
	aTime
)

func (k kind) String() string {
	return [...]string{"a table", "a list", "a string", "a whole number", "a number", "true or false", "a date or time"}[k]
}

// node is a value of a file and where it stands. go-toml's own decoder stops at
// the first value of a wrong type and does not tell where a good one stood,
// which is what checks of values need: hence a tree of our own, from its parser.
type node struct {
	kind  kind
	key   place // of the last part of its key
	value place
	text  string // a string's value, a number as it is written
	yes   bool
	list  []*node
	names []string // of a table's members, in the order of the file
	table map[string]*node
}

func newTable(at place) *node {
	return &node{kind: aTable, key: at, value: at, table: map[string]*node{}}
}

func (n *node) put(name string, child *node) {
	if _, there := n.table[name]; !there {
		n.names = append(n.names, name)
	}
	n.table[name] = child
}

// find follows a dotted key of ours; nil when it is not set.
func (n *node) find(key string) *node {
	for _, name := range strings.Split(key, ".") {
		if n == nil || n.kind != aTable {
			return nil
		}
		n = n.table[name]
	}
	return n
}

// maxNesting is far deeper than any key of ours.
const maxNesting = 64

// parse makes the tree of a file. What is not TOML is reported by go-toml's
// decoder, which also finds keys that stand twice; the parser alone does not.
func parse(file *source, data []byte) (*node, *Problem) {
	b := &builder{file: file, data: data}
	if !utf8.Valid(data) {
		return nil, b.problem(1, 1, "the file is not UTF-8")
	}
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		return nil, b.syntax(err)
	}
	b.parser.Reset(data)
	b.root = newTable(place{file: file, line: 1, column: 1})
	b.at = b.root
	for b.parser.NextExpression() {
		if err := b.expression(b.parser.Expression()); err != nil {
			return nil, b.syntax(err)
		}
	}
	if err := b.parser.Error(); err != nil {
		return nil, b.syntax(err)
	}
	return b.root, nil
}

// builder turns the parser's expressions into a tree.
type builder struct {
	file   *source
	data   []byte
	parser unstable.Parser
	root   *node
	at     *node // the table of the last header

	counted counted
}

func (b *builder) expression(e *unstable.Node) (err error) {
	switch e.Kind {
	case unstable.Table:
		b.at, err = b.descend(b.root, b.keys(e), false)
	case unstable.ArrayTable:
		b.at, err = b.descend(b.root, b.keys(e), true)
	case unstable.KeyValue:
		err = b.assign(b.at, e, 0)
	}
	return err
}

// part is one word of a dotted key.
type part struct {
	name string
	at   place
	end  int // offset after it
}

func (b *builder) keys(e *unstable.Node) []part {
	var all []part
	for it := e.Key(); it.Next(); {
		n := it.Node()
		all = append(all, part{string(n.Data), b.place(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)})
	}
	return all
}

var errNesting = errors.New("tables and lists are nested too deeply")

// descend goes into a table, making what is missing. The last part of an array
// table's key gets a new element.
func (b *builder) descend(n *node, keys []part, element bool) (*node, error) {
	if len(keys) > maxNesting {
		return nil, errNesting
	}
	for i, k := range keys {
		child := n.table[k.name]
		last := i == len(keys)-1
		switch {
		case child == nil && last && element:
			child = &node{kind: aList, key: k.at, value: k.at}
			n.put(k.name, child)
		case child == nil:
			child = newTable(k.at)
			n.put(k.name, child)
		}
		if last && element {
			child.list = append(child.list, newTable(k.at))
		}
		if child.kind == aList && len(child.list) > 0 {
			child = child.list[len(child.list)-1]
		}
		if child.kind != aTable {
			return nil, fmt.Errorf("%s is not a table", k.name) // go-toml has refused it already
		}
		n = child
	}
	return n, nil
}

func (b *builder) assign(n *node, e *unstable.Node, depth int) error {
	keys := b.keys(e)
	last := keys[len(keys)-1]
	n, err := b.descend(n, keys[:len(keys)-1], false)
	if err != nil {
		return err
	}
	// A list has no place of its own in the parser: it stands after the "=".
	at := last.end + len(b.data[last.end:]) - len(bytes.TrimLeft(b.data[last.end:], " \t="))
	child, err := b.value(e.Value(), b.place(uint32(at)), depth)
	if err != nil {
		return err
	}
	child.key = last.at
	n.put(last.name, child)
	return nil
}

func (b *builder) value(v *unstable.Node, at place, depth int) (*node, error) {
	if depth > maxNesting {
		return nil, errNesting
	}
	if v.Raw.Length > 0 {
		at = b.place(v.Raw.Offset)
	}
	n := &node{kind: kindOf(v.Kind), key: at, value: at, text: string(v.Data), yes: string(v.Data) == "true"}
	switch n.kind {
	case aList:
		for it := v.Children(); it.Next(); {
			child, err := b.value(it.Node(), at, depth+1)
			if err != nil {
				return nil, err
			}
			n.list = append(n.list, child)
		}
	case aTable:
		n.table = map[string]*node{}
		for it := v.Children(); it.Next(); {
			if err := b.assign(n, it.Node(), depth+1); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

func kindOf(k unstable.Kind) kind {
	switch k {
	case unstable.String:
		return aString
	case unstable.Integer:
		return anInteger
	case unstable.Float:
		return aFloat
	case unstable.Bool:
		return aBool
	case unstable.Array:
		return aList
	case unstable.InlineTable:
		return aTable
	}
	return aTime
}

func (n *node) integer() (int64, error) { return strconv.ParseInt(n.text, 0, 64) }

func (n *node) float() (float64, error) {
	return strconv.ParseFloat(strings.ReplaceAll(n.text, "_", ""), 64)
}

// place counts columns in characters, as editors do. It goes on from the place
// before: counting from the top for each value would take minutes for a large
// file that somebody else wrote.
func (b *builder) place(offset uint32) place {
	to := int(offset)
	if to < b.counted.offset || b.counted.line == 0 {
		b.counted = counted{line: 1, column: 1}
	}
	c := &b.counted
	passed := b.data[c.offset:to]
	if end := bytes.LastIndexByte(passed, '\n'); end >= 0 {
		c.line += bytes.Count(passed, []byte{'\n'})
		c.column, passed = 1, passed[end+1:]
	}
	c.column += utf8.RuneCount(passed)
	c.offset = to
	return place{b.file, c.line, c.column}
}

// counted is how far the lines have been counted.
type counted struct{ offset, line, column int }

func (b *builder) problem(line, column int, message string) *Problem {
	return &Problem{File: b.file.name, Line: line, Column: column, Message: message}
}

// syntax gives go-toml's error our shape.
func (b *builder) syntax(err error) *Problem {
	message := strings.TrimPrefix(err.Error(), "toml: ")
	var at *toml.DecodeError
	if !errors.As(err, &at) {
		return b.problem(0, 0, message)
	}
	line, column := at.Position()
	if lines := bytes.Split(b.data, []byte{'\n'}); line <= len(lines) && column-1 <= len(lines[line-1]) {
		column = utf8.RuneCount(lines[line-1][:column-1]) + 1
	}
	p := b.problem(line, column, message)
	if strings.HasPrefix(message, "expected keyword") {
		p.Hint = "put strings in quotes"
	}
	return p
}

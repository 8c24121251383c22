package config

import (
	"fmt"
	"strings"
	"time"

	"github.com/coop-dev/coop/api"
)

// decode reads a table into a struct by its keys, and reports what does not fit.
// What does not is left as it was.
func decode[T any](all []key[T], root *node, into *T, ps *problems) {
	decodeAs("", all, root, into, ps)
}

// decodeAs does it for a table that messages name.
func decodeAs[T any](label string, all []key[T], root *node, into *T, ps *problems) {
	d := decoder[T]{label, all, into, ps}
	d.tableAt(root, "")
}

type decoder[T any] struct {
	label string
	keys  []key[T]
	into  *T
	ps    *problems
}

func (d decoder[T]) tableAt(n *node, prefix string) {
	for _, name := range n.names {
		full, child := join(prefix, name), n.table[name]
		switch k := d.lookup(full); {
		case k != nil:
			assign(k.field(d.into), join(d.label, full), child, k.check, d.ps)
		case !d.hasBelow(full):
			d.unknown(full, child)
		case child.kind != aTable:
			d.ps.add(child.value, "%s must be a table, not %s", full, child.kind).Hint = fmt.Sprintf("write [%s], and its keys below it", full)
		default:
			d.tableAt(child, full)
		}
	}
}

func (d decoder[T]) lookup(name string) *key[T] {
	for i := range d.keys {
		if d.keys[i].name == name {
			return &d.keys[i]
		}
	}
	return nil
}

func (d decoder[T]) hasBelow(table string) bool {
	for _, k := range d.keys {
		if strings.HasPrefix(k.name, table+".") {
			return true
		}
	}
	return false
}

// unknown names the nearest known key or table, else those that stand there.
func (d decoder[T]) unknown(full string, n *node) {
	var known, here []string
	add := func(list *[]string, name string) {
		for _, have := range *list {
			if have == name {
				return
			}
		}
		*list = append(*list, name)
	}
	for _, k := range d.keys {
		for i, r := range k.name {
			if r == '.' {
				add(&known, k.name[:i])
			}
		}
		add(&known, k.name)
	}
	prefix := strings.TrimSuffix(full, last(full))
	for _, name := range known {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			rest, _, _ = strings.Cut(rest, ".")
			add(&here, rest)
		}
	}
	p := d.ps.add(n.key, "unknown key %q", join(d.label, full))
	if near := nearest(full, known); near != "" {
		p.Hint = "did you mean " + near + "?"
	} else if prefix == "" {
		p.Hint = "known are " + strings.Join(here, ", ")
	} else {
		p.Hint = fmt.Sprintf("known in [%s] are %s", strings.TrimSuffix(prefix, "."), strings.Join(here, ", "))
	}
}

// assign reads a value into a field of whatever type.
func assign(field any, name string, n *node, check func(any) error, ps *problems) {
	switch p := field.(type) {
	case *string:
		scalar(p, name, n, check, ps, readString)
	case *bool:
		scalar(p, name, n, check, ps, readBool)
	case *int64:
		scalar(p, name, n, check, ps, readInteger)
	case *float64:
		scalar(p, name, n, check, ps, readNumber)
	case *api.Size:
		scalar(p, name, n, check, ps, readSize)
	case *api.Duration:
		scalar(p, name, n, check, ps, readDuration)
	case *[]string:
		assignList(p, name, n, check, ps)
	case *map[string]string:
		assignMap(p, name, n, check, ps, readString)
	case *map[string]int64:
		assignMap(p, name, n, check, ps, readInteger)
	case *[]Mount:
		assignMounts(p, name, n, ps)
	default:
		panic(fmt.Sprintf("key %s has a field of type %T", name, field))
	}
}

// scalar reads one value and checks it.
func scalar[V any](into *V, name string, n *node, check func(any) error, ps *problems, read func(*node) (V, error)) {
	v, err := read(n)
	if err == nil && check != nil {
		err = check(v)
	}
	if wrong, ok := err.(*wrongType); ok {
		ps.add(n.value, "%s must be %s, not %s", name, wrong.want, n.kind).Hint = wrong.hint
		return
	}
	if err != nil {
		ps.refuse(n.value, name, err)
		return
	}
	*into = v
}

// wrongType is a value of another type than the key's.
type wrongType struct{ want, hint string }

func (w *wrongType) Error() string { return "must be " + w.want }

func readString(n *node) (string, error) {
	if n.kind != aString {
		return "", &wrongType{"a string", "put it in quotes"}
	}
	return n.text, nil
}

func readBool(n *node) (bool, error) {
	if n.kind != aBool {
		return false, &wrongType{"true or false", "without quotes"}
	}
	return n.yes, nil
}

func readInteger(n *node) (int64, error) {
	if n.kind != anInteger {
		return 0, &wrongType{"a whole number", "without quotes, such as 1024"}
	}
	return n.integer()
}

func readNumber(n *node) (float64, error) {
	if n.kind != anInteger && n.kind != aFloat {
		return 0, &wrongType{"a number", "without quotes, such as 2 or 0.5"}
	}
	if n.kind == anInteger {
		i, err := n.integer()
		return float64(i), err
	}
	return n.float()
}

func readSize(n *node) (api.Size, error) {
	switch n.kind {
	case anInteger:
		i, err := n.integer()
		if err == nil && i < 0 {
			return 0, withHint(sizeHint, "%d is not a size", i)
		}
		return api.Size(i), err
	case aString:
		s, err := api.ParseSize(n.text)
		if err != nil {
			return 0, withHint(sizeHint, "%q is not a size", n.text)
		}
		return s, nil
	}
	return 0, &wrongType{"a size", sizeHint}
}

const (
	sizeHint     = `write it as "512MiB", "4GiB" or as a number of bytes`
	durationHint = `write it as "500ms", "30s", "4h"; "0" is none`
)

// readDuration refuses bare numbers, which have no unit; 0 needs none.
func readDuration(n *node) (api.Duration, error) {
	if n.kind != aString && n.text != "0" {
		return 0, &wrongType{"a duration", durationHint}
	}
	d, err := time.ParseDuration(n.text)
	if err != nil || d < 0 {
		return 0, withHint(durationHint, "%q is not a duration", n.text)
	}
	return api.Duration(d), nil
}

func assignList(into *[]string, name string, n *node, check func(any) error, ps *problems) {
	if n.kind != aList {
		ps.add(n.value, "%s must be a list of strings, not %s", name, n.kind).Hint = `write it as ["…", "…"]`
		return
	}
	all := make([]string, 0, len(n.list))
	for i, e := range n.list {
		var s string
		scalar(&s, fmt.Sprintf("%s[%d]", name, i), e, check, ps, readString)
		all = append(all, s)
	}
	*into = all
}

func assignMap[V any](into *map[string]V, name string, n *node, check func(any) error, ps *problems, read func(*node) (V, error)) {
	if n.kind != aTable {
		ps.add(n.value, "%s must be a table, not %s", name, n.kind).Hint = fmt.Sprintf("write [%s], and NAME = VALUE below it", name)
		return
	}
	all := make(map[string]V, len(n.names))
	for _, k := range n.names {
		if name == "env" && !validVariable(k) {
			ps.add(n.table[k].key, "%s: %q is no name of a variable", name, k).Hint = "letters, digits and _, not beginning with a digit"
			continue
		}
		var v V
		scalar(&v, join(name, k), n.table[k], check, ps, read)
		all[k] = v
	}
	*into = all
}

func assignMounts(into *[]Mount, name string, n *node, ps *problems) {
	if n.kind != aList {
		ps.add(n.value, "%s must be a list of tables, not %s", name, n.kind).Hint = "write [[mounts]] for each of them"
		return
	}
	var all []Mount
	for i, e := range n.list {
		if e.kind != aTable {
			ps.add(e.value, "%s[%d] must be a table, not %s", name, i, e.kind).Hint = "write [[mounts]] for each of them"
			continue
		}
		m := Mount{at: e.value}
		decodeAs(fmt.Sprintf("%s[%d]", name, i), mountKeys(), e, &m, ps)
		for _, needed := range []string{"source", "target"} {
			if e.table[needed] == nil {
				ps.add(e.value, "%s[%d] has no %s", name, i, needed).Hint = "a mount needs source and target"
			}
		}
		if e.table["write"] == nil && m.Source != "" && !isPath(m.Source) {
			m.Write = true // a volume is there to be written to
		}
		all = append(all, m)
	}
	*into = all
}

package config

// merge puts a layer over another. Tables merge, lists of keys that append grow,
// the rest is replaced. Neither tree is changed.
func merge(under, over *node, prefix string, appends func(key string) bool) *node {
	switch {
	case under == nil:
		return over
	case over == nil:
		return under
	case under.kind == aTable && over.kind == aTable:
		return mergeTables(under, over, prefix, appends)
	case under.kind == aList && over.kind == aList && appends(prefix):
		both := *over
		both.list = append(append([]*node{}, under.list...), over.list...)
		return &both
	}
	return over
}

func mergeTables(under, over *node, prefix string, appends func(key string) bool) *node {
	out := newTable(over.key)
	for _, n := range []*node{under, over} {
		for _, name := range n.names {
			out.put(name, merge(under.table[name], over.table[name], join(prefix, name), appends))
		}
	}
	return out
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

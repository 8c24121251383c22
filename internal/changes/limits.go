package changes

// Limits bound what a diff costs, whatever a sandbox has written.
type Limits struct {
	FileBytes  int64 // a file larger than this on either side is summarised
	TotalBytes int64 // of all contents in one diff; files beyond it are summarised
	Changes    int   // more of them are an error (too_large)
}

// DefaultLimits are those of a diff that names none.
func DefaultLimits() Limits {
	return Limits{FileBytes: 4 << 20, TotalBytes: 16 << 20, Changes: 1 << 19}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	if l.FileBytes <= 0 {
		l.FileBytes = d.FileBytes
	}
	if l.TotalBytes <= 0 {
		l.TotalBytes = d.TotalBytes
	}
	if l.Changes <= 0 {
		l.Changes = d.Changes
	}
	return l
}

// Budget is what is left of TotalBytes over a series of diffs.
type Budget struct{ file, left int64 }

// NewBudget starts a series; zero fields are DefaultLimits.
func NewBudget(l Limits) *Budget {
	l = l.withDefaults()
	return &Budget{l.FileBytes, l.TotalBytes}
}

// take reports whether n more bytes may be read, and counts them.
func (b *Budget) take(n int64) bool {
	if n > b.left {
		return false
	}
	b.left -= n
	return true
}

package changes

// Policy is what decides about changes before a person does.
type Policy struct {
	Deny     []string // never applied, listed as denied
	Flag     []string // "glob", or "glob#key" for one key of a JSON file
	Allow    []string // when not empty, everything else is denied
	MaxBytes int64    // larger new files are denied; 0 means no limit
	NoBinary bool     // new binary content is denied
}

// Limits bound what a diff costs.
type Limits struct {
	FileBytes  int64 // a side larger than this is summarised
	TotalBytes int64 // of all sides in one diff
	Changes    int   // more of them is an error (too_large)
}

// Budget is what is left of the limits over a series of diffs.
type Budget struct{ fileBytes, left int64 }

// NewBudget starts a series.
func NewBudget(l Limits) *Budget { return &Budget{l.FileBytes, l.TotalBytes} }

package api

// Diff is what a workspace changed: the answer of GET /sandboxes/{id}/diff.
type Diff struct {
	// Files are sorted by the raw bytes of their path. Directories are among them
	// (mode "040755"): added, deleted and changed ones count beside their files.
	Files []FileChange `json:"files"`
	// UnifiedDiff is what git apply takes; Encoding is "base64" when it is not UTF-8.
	UnifiedDiff string     `json:"unifiedDiff"`
	Encoding    string     `json:"encoding,omitempty"`
	Totals      DiffTotals `json:"totals"`
}

// FileChange is one difference. A name that is not UTF-8 is shown with U+FFFD in
// place of the other bytes; then the field that ends in Base64 has it exactly.
type FileChange struct {
	FilePath       string   `json:"filePath"`
	FilePathBase64 string   `json:"filePathBase64,omitempty"`
	OldPath        string   `json:"oldPath,omitempty"` // renamed: where it was
	OldPathBase64  string   `json:"oldPathBase64,omitempty"`
	ChangeType     string   `json:"changeType"` // added, modified, deleted, renamed, mode, type
	OldMode        string   `json:"oldMode,omitempty"`
	Mode           string   `json:"mode,omitempty"` // octal with the type: 100644, 040755, 120000
	OldSize        int64    `json:"oldSize,omitempty"`
	Size           int64    `json:"size"`
	LinkTarget     string   `json:"linkTarget,omitempty"`
	Binary         bool     `json:"binary"`
	Large          bool     `json:"large,omitempty"`
	Similarity     int      `json:"similarity,omitempty"` // renamed: percent
	Additions      int      `json:"additions"`            // lines
	Deletions      int      `json:"deletions"`
	Fingerprint    string   `json:"fingerprint,omitempty"` // of how both sides look now; see approve
	Flagged        []string `json:"flagged"`               // why a person should look twice
	Status         string   `json:"status"`                // pending, denied, refused
	Reason         string   `json:"reason,omitempty"`      // of denied and refused, or why the content is not shown
	Hunks          []Hunk   `json:"hunks"`
}

// Hunk is one run of changed lines. Index counts from 0 within its file and stays
// as long as neither side of the file changes.
type Hunk struct {
	Index    int      `json:"index"`
	ID       string   `json:"id"`                 // of what it does; stays when other hunks are applied
	Header   string   `json:"header"`             // @@ -1,3 +1,4 @@
	Lines    []string `json:"lines"`              // with their first character: blank, +, - or \
	Encoding string   `json:"encoding,omitempty"` // "base64": of every line, when one is not UTF-8
}

// DiffTotals count the changes of an answer.
type DiffTotals struct {
	Files       int `json:"files"`       // without directories
	Directories int `json:"directories"` // added, deleted or with another mode
	Added       int `json:"added"`       // these and the next ones: files
	Modified    int `json:"modified"`
	Deleted     int `json:"deleted"`
	Renamed     int `json:"renamed"`
	Mode        int `json:"mode"`
	Type        int `json:"type"`
	Additions   int `json:"additions"` // lines
	Deletions   int `json:"deletions"`
	Pending     int `json:"pending"` // these and the next ones: files and directories
	Flagged     int `json:"flagged"`
	Denied      int `json:"denied"`
	Refused     int `json:"refused"`
}

package server

import (
	"encoding/base64"
	"encoding/json"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/changes"
)

func someChanges() []changes.Change {
	file := changes.State{Exists: true, Mode: 0o644, Size: 5}
	return []changes.Change{
		{Path: ".git", Kind: changes.Modified, Old: changes.State{Exists: true, Mode: fs.ModeDir | 0o755}, New: changes.State{Exists: true, Mode: fs.ModeDir | 0o755}, Denied: ".git/**"},
		{Path: "a", Kind: changes.Renamed, OldPath: "z", Old: file, New: file, Similarity: 90},
		{Path: "b\xff", Kind: changes.Added, New: file, Flagged: []string{"because"}},
		{Path: "dir", Kind: changes.Added, New: changes.State{Exists: true, Mode: fs.ModeDir | 0o755}},
		{Path: "fifo", Kind: changes.Added, New: changes.State{Exists: true, Mode: fs.ModeNamedPipe | 0o600}, Refused: "a fifo"},
	}
}

func TestDiffJSON(t *testing.T) {
	h := newHarness(t)
	h.engine.changes = someChanges()
	var d api.Diff
	must(t, json.Unmarshal(h.get("/sandboxes/box/diff").want(http.StatusOK).body, &d))
	var names []string
	for _, f := range d.Files {
		names = append(names, f.FilePath)
		if f.Flagged == nil || f.Hunks == nil {
			t.Errorf("%s: null instead of a list", f.FilePath)
		}
	}
	if want := []string{".git", "a", "b\uFFFD", "dir", "fifo"}; !slices.Equal(names, want) {
		t.Fatalf("%q", names)
	}
	odd := d.Files[2]
	if raw, err := base64.StdEncoding.DecodeString(odd.FilePathBase64); err != nil || string(raw) != "b\xff" {
		t.Errorf("%q, %v", raw, err)
	}
	if odd.Additions != 2 || len(odd.Hunks) != 1 || odd.Hunks[0].Encoding != "base64" || odd.Hunks[0].Header != "@@ -0,0 +1,2 @@" || odd.Mode != "100644" {
		t.Errorf("%+v", odd)
	}
	if d.Encoding != "base64" || d.Files[0].Status != "denied" || d.Files[4].Status != "refused" || d.Files[4].Mode != "010600" || d.Files[3].Mode != "040755" {
		t.Errorf("%+v", d)
	}
	want := api.DiffTotals{Files: 3, Directories: 2, Added: 2, Renamed: 1, Additions: 4, Pending: 3, Flagged: 1, Denied: 1, Refused: 1}
	if d.Totals != want {
		t.Errorf("%+v", d.Totals)
	}
}

// TestDiffAnswerIsTheType: the streamed answer has every field of api.Diff.
func TestDiffAnswerIsTheType(t *testing.T) {
	h := newHarness(t)
	for _, list := range [][]changes.Change{nil, someChanges()[:1], someChanges()} {
		h.engine.changes = list
		a := h.get("/sandboxes/box/diff").want(http.StatusOK)
		dec := json.NewDecoder(strings.NewReader(string(a.body)))
		dec.DisallowUnknownFields()
		var d api.Diff
		must(t, dec.Decode(&d))
		if d.Files == nil || len(d.Files) != len(list) || dec.More() || a.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%d files: %s", len(list), a.body)
		}
	}
}

func TestDiffDetail(t *testing.T) {
	h := newHarness(t)
	h.engine.changes = someChanges()
	var d api.Diff
	must(t, json.Unmarshal(h.get("/sandboxes/box/diff?detail=stat").want(http.StatusOK).body, &d))
	if d.UnifiedDiff != "" || d.Totals.Additions != 4 || len(d.Files[2].Hunks) != 0 {
		t.Errorf("stat: %+v", d)
	}
	must(t, json.Unmarshal(h.get("/sandboxes/box/diff?detail=names&path=b&path=c").want(http.StatusOK).body, &d))
	if d.Totals.Additions != 0 || !slices.Contains(h.engine.calls, "diff b,c") {
		t.Errorf("names: %+v %q", d.Totals, h.engine.calls)
	}
}

func TestDiffPatch(t *testing.T) {
	h := newHarness(t)
	a := h.get("/sandboxes/box/diff?format=patch").want(http.StatusOK)
	if len(a.body) != 0 || a.Header.Get("Content-Type") != "text/x-diff" {
		t.Errorf("nothing changed: %q %v", a.body, a.Header)
	}
	h.engine.changes = someChanges()[2:3]
	a = h.get("/sandboxes/box/diff?format=patch").want(http.StatusOK)
	if !strings.HasSuffix(string(a.body), "@@ -0,0 +1,2 @@\n+1\n+\xff2\n") {
		t.Errorf("%q", a.body)
	}
}

func TestDiffRefuses(t *testing.T) {
	h := newHarness(t)
	h.get("/sandboxes/box/diff?format=xml").wantError(400, "invalid", "format")
	h.get("/sandboxes/box/diff?detail=x").wantError(400, "invalid", "detail")
	h.get("/sandboxes/box/diff?pth=x").wantError(400, "invalid")
	h.get("/sandboxes/other/diff").wantError(404, "not_found")
	h.get("/sandboxes/other/diff?format=patch").wantError(404, "not_found")
}

package storetest

import (
	"testing"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

func listTests() map[string]func(*testing.T, store.Store) {
	return map[string]func(*testing.T, store.Store){
		"list of nothing": func(t *testing.T, s store.Store) {
			page := list(t, s, store.Filter{})
			same(t, page, store.Page{})
		},
		"list is newest first, whole records": func(t *testing.T, s store.Store) {
			middle, oldest, newest := create(t, s, record(2)), create(t, s, record(1)), create(t, s, record(3))
			same(t, list(t, s, store.Filter{}), store.Page{Records: []*sandbox.Record{newest, middle, oldest}, Total: 3})
		},
		"list filters": listFilters,
		"list labels that look like syntax": func(t *testing.T, s store.Store) {
			rec := record(1)
			rec.Spec.Labels = map[string]string{`a"b.c[0]`: `'%`, "$": "", "n": "1"}
			create(t, s, rec)
			create(t, s, record(2))
			for k, v := range rec.Spec.Labels {
				same(t, ids(list(t, s, store.Filter{Labels: map[string]string{k: v}})), []sandbox.ID{rec.ID})
			}
		},
		"list pages while rows come and go": listPages,
		"list pages through equal times": func(t *testing.T, s store.Store) {
			for n := range 7 {
				rec := record(n)
				rec.CreatedAt = born(0)
				create(t, s, rec)
			}
			var got []sandbox.ID
			for f := (store.Filter{Limit: 2}); ; {
				page := list(t, s, f)
				got = append(got, ids(page)...)
				if f.Cursor = page.Next; f.Cursor == "" {
					break
				}
			}
			var want []sandbox.ID
			for n := 6; n >= 0; n-- {
				want = append(want, numbered(n))
			}
			same(t, got, want)
		},
		"list limits": func(t *testing.T, s store.Store) {
			for n := range 101 {
				create(t, s, record(n))
			}
			page := list(t, s, store.Filter{})
			same(t, []any{len(page.Records), page.Total, page.Next != ""}, []any{100, 101, true})
			page = list(t, s, store.Filter{Limit: 101})
			same(t, []any{len(page.Records), page.Total, page.Next}, []any{101, 101, ""})
		},
		"list with a broken cursor": func(t *testing.T, s store.Store) {
			for _, cursor := range []string{"x", "!!", "MTIz", "\x00", "YSBi"} {
				_, err := s.List(t.Context(), store.Filter{Cursor: cursor})
				wantCode(t, err, sandbox.Invalid)
			}
		},
	}
}

// listFilters has four sandboxes: 1 runs, 2 runs for another owner, 3 has
// another path and label, 4 is deleted.
func listFilters(t *testing.T, s store.Store) {
	for n := 1; n <= 4; n++ {
		rec := record(n)
		rec.Spec.Workspace.Source = "/src"
		switch n {
		case 2:
			rec.Spec.Owner = "uid:2"
		case 3:
			rec.Spec.Workspace.Source = "/other"
			rec.Spec.Labels = map[string]string{"team": "red", "env": "ci"}
		}
		create(t, s, rec)
		if n <= 2 {
			become(t, s, rec, sandbox.Running)
		}
		if n == 4 {
			become(t, s, rec, sandbox.Deleted)
		}
	}
	for name, c := range map[string]struct {
		filter store.Filter
		want   []int
	}{
		"none":             {store.Filter{}, []int{3, 2, 1}},
		"status":           {store.Filter{Status: sandbox.Running}, []int{2, 1}},
		"owner":            {store.Filter{Owner: "uid:1000"}, []int{3, 1}},
		"path":             {store.Filter{Path: "/src"}, []int{2, 1}},
		"part of a path":   {store.Filter{Path: "/sr"}, nil},
		"label":            {store.Filter{Labels: map[string]string{"team": "red"}}, []int{3, 2, 1}},
		"two labels":       {store.Filter{Labels: map[string]string{"team": "red", "env": "ci"}}, []int{3}},
		"label, not value": {store.Filter{Labels: map[string]string{"team": "blue"}}, nil},
		"all of them":      {store.Filter{Status: sandbox.Running, Owner: "uid:2", Path: "/src", Labels: map[string]string{"team": "red"}}, []int{2}},
		"deleted too":      {store.Filter{Deleted: true}, []int{4, 3, 2, 1}},
		"deleted only":     {store.Filter{Status: sandbox.Deleted}, []int{4}},
		"deleted on path":  {store.Filter{Deleted: true, Path: "/src"}, []int{4, 2, 1}},
	} {
		var want []sandbox.ID
		for _, n := range c.want {
			want = append(want, numbered(n))
		}
		page := list(t, s, c.filter)
		if same(t, ids(page), want); page.Total != len(want) || page.Next != "" {
			t.Errorf("%s: total %d, next %q", name, page.Total, page.Next)
		}
	}
}

// listPages reads 250 rows in pages of 20. Before each page a newer one is
// made and one that was already shown is deleted; neither shifts anything.
func listPages(t *testing.T, s store.Store) {
	var want []sandbox.ID
	for n := 249; n >= 0; n-- {
		create(t, s, record(n))
		want = append(want, numbered(n))
	}
	var got []sandbox.ID
	for f, pages := (store.Filter{Limit: 20}), 0; ; pages++ {
		page := list(t, s, f)
		same(t, page.Total, 250)
		got = append(got, ids(page)...)
		if f.Cursor = page.Next; f.Cursor == "" {
			break
		}
		create(t, s, record(1000+pages))
		become(t, s, page.Records[0], sandbox.Deleted)
	}
	same(t, got, want)
}

func list(t *testing.T, s store.Store, f store.Filter) store.Page {
	t.Helper()
	page, err := s.List(t.Context(), f)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	return page
}

func ids(page store.Page) (ids []sandbox.ID) {
	for _, rec := range page.Records {
		ids = append(ids, rec.ID)
	}
	return ids
}

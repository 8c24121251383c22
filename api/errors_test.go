package api

import "testing"

func TestEveryCodeHasOneRow(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Codes() {
		if seen[c.Code] || c.HTTP < 400 || c.HTTP > 599 || c.Exit == ExitOK {
			t.Errorf("%+v", c)
		}
		seen[c.Code] = true
	}
	if len(seen) != 12 {
		t.Errorf("%d codes", len(seen))
	}
}

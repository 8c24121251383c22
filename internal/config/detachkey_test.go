package config

import "testing"

func TestDetachKeyWords(t *testing.T) {
	for text, want := range map[string]string{
		"ctrl-]": "ctrl-]", "CTRL-P,Ctrl+q": "ctrl-p,ctrl-q", "^a, d": "ctrl-a,d", "none": "none",
		"ctrl-space": "ctrl-@", `ctrl-\`: `ctrl-\`, "ctrl-a,ctrl-a": "ctrl-a,ctrl-a", "^^": "ctrl-^",
		"": "", "d": "", "ctrl-": "", "ctrl-[": "", "ctrl-m": "", "^i": "", "ctrl-1": "", "ctrl-]]": "", "ctrl-a,": "", "ctrl-a,é": "", "f1": "", "ctrl-é": "",
		"^a,b,c,d,e,f,g,h": "ctrl-a,b,c,d,e,f,g,h", "^a,b,c,d,e,f,g,h,i": "",
	} {
		got, err := ParseDetachKey(text)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q: taken for %s", text, got)
		case want != "" && (err != nil || got.String() != want):
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

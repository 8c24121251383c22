package api

import (
	"encoding/json"
	"testing"
	"time"
)

func TestParseSize(t *testing.T) {
	for in, want := range map[string]Size{
		"0": 0, "4096": 4096, "10b": 10, "10k": 10 << 10, "10K": 10 << 10, "1kb": 1000, "512MiB": 512 << 20, "4GiB": 4 << 30,
		"1.5GB": 1500000000, " 2 TiB ": 2 << 40, "1p": 1 << 50, "0.5k": 512,
	} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "k", "-1", "1x", "1kib2", "1kbb", "NaN", "Inf", "9e18k", "9223372036854775808", "1 2", "0x"} {
		if got, err := ParseSize(in); err == nil {
			t.Errorf("%q is %d", in, got)
		}
	}
}

func TestSizeString(t *testing.T) {
	for in, want := range map[Size]string{0: "0", 1023: "1023", 1024: "1KiB", 1536: "1536", 512 << 20: "512MiB", 4 << 30: "4GiB", 3 << 50: "3PiB"} {
		if got := in.String(); got != want {
			t.Errorf("%d: %q, want %q", int64(in), got, want)
		}
	}
}

func TestSizeJSON(t *testing.T) {
	for in, want := range map[string]Size{`0`: 0, `4096`: 4096, `"4k"`: 4096, `"7"`: 7} {
		var got Size
		if err := json.Unmarshal([]byte(in), &got); err != nil || got != want {
			t.Errorf("%s: %d, %v", in, got, err)
		}
	}
	for _, in := range []string{`-1`, `1.5`, `"x"`, `{}`, `[]`, `true`, `1e3`} {
		var got Size
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s is %d", in, got)
		}
	}
}

func TestDurationJSON(t *testing.T) {
	for in, want := range map[string]time.Duration{`"30s"`: 30 * time.Second, `"0"`: 0, `0`: 0, `"1h30m"`: 90 * time.Minute} {
		var got Duration
		if err := json.Unmarshal([]byte(in), &got); err != nil || time.Duration(got) != want {
			t.Errorf("%s: %v, %v", in, time.Duration(got), err)
		}
	}
	for _, in := range []string{`30`, `"-1s"`, `"x"`, `""`, `{}`, `"30"`} {
		var got Duration
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s is %v", in, time.Duration(got))
		}
	}
	b, err := json.Marshal(struct {
		D Duration `json:"d,omitempty"`
		E Duration `json:"e,omitempty"`
	}{D: Duration(90 * time.Second)})
	if err != nil || string(b) != `{"d":"1m30s"}` {
		t.Errorf("%s, %v", b, err)
	}
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"1", "512MiB", "1.5GB", "9e18", "\u0130b", "1\u212a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseSize(s)
		if err != nil {
			return
		}
		if back, err := ParseSize(n.String()); n < 0 || err != nil {
			t.Fatalf("%q: %d, %s back as %d, %v", s, n, n, back, err)
		}
	})
}

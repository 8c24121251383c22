package sandbox

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNameForIsAlwaysValid(t *testing.T) {
	alphabet := []rune("abzABZ059-_./ \t\n\x00äßİKℵ日🙂\u0301\ufffd%$")
	check := func(dir string) {
		if n := NameFor(dir); !ValidName(n) || !ValidName(n+"-1000000") {
			t.Errorf("NameFor(%q) = %q", dir, n)
		}
	}
	for _, dir := range []string{"", "/", ".", "..", "-", "---", "/home/me/Mein Projekt", "/x/\xff\xfe", strings.Repeat("a-", 200)} {
		check(dir)
	}
	for range 5000 {
		r := make([]rune, rand.IntN(80))
		for i := range r {
			r[i] = alphabet[rand.IntN(len(alphabet))]
		}
		check(string(r))
	}
}

func TestNameForReadsLikeTheDirectory(t *testing.T) {
	for dir, want := range map[string]string{
		"/home/me/project":              "project",
		"/home/me/My Project 2":         "my-project-2",
		"/home/me/_hidden_":             "hidden",
		"/home/me/" + "日本":              "sandbox",
		"/":                             "sandbox",
		strings.Repeat("a", 200):        strings.Repeat("a", 48),
		strings.Repeat("a", 47) + "--b": strings.Repeat("a", 47),
	} {
		if got := NameFor(dir); got != want {
			t.Errorf("NameFor(%q) = %q, want %q", dir, got, want)
		}
	}
}

func TestNewIDSortsByAge(t *testing.T) {
	now := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	var ids []ID
	for i := range 1000 {
		ids = append(ids, NewID(now.Add(time.Duration(i)*time.Millisecond)))
	}
	if !slices.IsSorted(ids) {
		t.Error("ids do not sort by age")
	}
	for _, id := range ids {
		if !ValidID(string(id)) || !ValidID(string(id)[:4]) {
			t.Fatalf("id %q", id)
		}
	}
	far := []ID{NewID(now), NewID(now.AddDate(100, 0, 0)), NewID(now.AddDate(5000, 0, 0))}
	if !slices.IsSorted(far) {
		t.Errorf("ids of other centuries: %v", far)
	}
}

func TestNewIDIsUnique(t *testing.T) {
	now := time.Now()
	seen := map[ID]bool{}
	for range 10000 {
		id := NewID(now)
		if seen[id] {
			t.Fatalf("%s twice", id)
		}
		seen[id] = true
	}
}

func TestValidID(t *testing.T) {
	for id, want := range map[string]bool{
		"abcd": true, "0123456789abcdef": true, strings.Repeat("a", 40): true,
		"": false, "abc": false, strings.Repeat("a", 41): false, "ABCD": false, "ab-cd": false, "../..": false, "abcd\n": false,
	} {
		if ValidID(id) != want {
			t.Errorf("ValidID(%q) = %v", id, !want)
		}
	}
}

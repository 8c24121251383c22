package idmap

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// lookup maps one id as the kernel would; ok is false for an id without a place.
func lookup(m Map, id uint32) (to uint32, ok bool) {
	for _, l := range m {
		if id >= l.Inside && id-l.Inside < l.Count {
			return l.Outside + (id - l.Inside), true
		}
	}
	return 0, false
}

// overlap reports whether two stretches of ids share one.
func overlap(a, b, n, m uint32) bool {
	return uint64(a) < uint64(b)+uint64(m) && uint64(b) < uint64(a)+uint64(n)
}

// checkOwned is everything Owned promises.
func checkOwned(t *testing.T, owner, inside, base uint32) {
	t.Helper()
	m := Owned(owner, inside, base)
	if len(m) == 0 || len(m) > 340 { // the kernel's own limit of lines
		t.Fatalf("Owned(%d, %d): %d lines", owner, inside, len(m))
	}
	for i, a := range m {
		if a.Count == 0 {
			t.Errorf("Owned(%d, %d): empty line %v", owner, inside, a)
		}
		if a.Outside < base || uint64(a.Outside)+uint64(a.Count) > uint64(base)+uint64(Range) {
			t.Errorf("Owned(%d, %d): %v leaves the sandbox's range", owner, inside, a)
		}
		for _, b := range m[i+1:] {
			if overlap(a.Inside, b.Inside, a.Count, b.Count) || overlap(a.Outside, b.Outside, a.Count, b.Count) {
				t.Errorf("Owned(%d, %d): %v and %v overlap", owner, inside, a, b)
			}
		}
	}
	if to, ok := lookup(m, owner); !ok || to != base+inside {
		t.Errorf("Owned(%d, %d): the owner becomes %d (%v)", owner, inside, to-base, ok)
	}
	if _, ok := lookup(m, 0); ok && owner != 0 {
		t.Errorf("Owned(%d, %d): host root is mapped", owner, inside)
	}
	for _, id := range []uint32{1, 2, owner - 1, owner + 1, inside, inside + 1, Range - 1} {
		if to, ok := lookup(m, id); ok && id != owner && to != base+id {
			t.Errorf("Owned(%d, %d): %d becomes %d", owner, inside, id, to-base)
		}
	}
	if owner != inside {
		if to, ok := lookup(m, inside); ok && to == base+inside {
			t.Errorf("Owned(%d, %d): two ids become %d", owner, inside, inside)
		}
	}
}

func TestOwned(t *testing.T) {
	edges := []uint32{0, 1, 2, 999, 1000, 1001, Range - 2, Range - 1}
	for _, owner := range append(edges, Range, Range+1, First, 1<<32-2) {
		for _, inside := range edges {
			checkOwned(t, owner, inside, First)
		}
	}
	for range 20000 {
		owner := rand.Uint32N(1<<32 - 1)
		if rand.IntN(2) == 0 {
			owner %= Range
		}
		checkOwned(t, owner, rand.Uint32N(Range), First+rand.Uint32N(maxSlots)*Range)
	}
}

// TestOwnedLeavesOutTheOthers: nobody but the owner has an id inside.
func TestOwnedLeavesOutTheOthers(t *testing.T) {
	m := Owned(1000, 5, First)
	for id := range Range {
		if to, ok := lookup(m, id); ok != (id == 1000) || (ok && to != First+5) {
			t.Errorf("%d becomes %d (%v)", id, to-First, ok)
		}
	}
}

func TestFreeBase(t *testing.T) {
	var taken []uint32
	for range maxSlots {
		base, err := FreeBase(taken)
		if err != nil {
			t.Fatal(err)
		}
		if base < First || (base-First)%Range != 0 || uint64(base)+uint64(Range) > 1<<31 {
			t.Fatalf("base %#x", base)
		}
		if len(taken) > 0 && base <= taken[len(taken)-1] {
			t.Fatalf("base %#x twice", base)
		}
		taken = append(taken, base)
		if len(taken) == 20 { // the rest one by one would be quadratic
			break
		}
	}
	for slot := range maxSlots {
		taken = append(taken, First+slot*Range)
	}
	if base, err := FreeBase(taken); err == nil {
		t.Errorf("all are taken, and yet %#x", base)
	}
	free := First + 77*Range
	taken = slices.DeleteFunc(taken, func(b uint32) bool { return b == free })
	if base, err := FreeBase(taken); err != nil || base != free {
		t.Errorf("%#x, %v; want the one that was given back", base, err)
	}
	if base, err := FreeBase([]uint32{0, 5, 1 << 31}); err != nil || base != First {
		t.Errorf("%#x, %v: ids of nobody count", base, err)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Map{
		"         0          0 4294967295\n": {{0, 0, 1<<32 - 1}},
		"0 1000 1\n1 100000 65536\n":         {{0, 1000, 1}, {1, 100000, 65536}},
		"         0       1001          1\n": {{0, 1001, 1}},
		"0 0 1":                              {{0, 0, 1}},
	} {
		if got, err := Parse(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("Parse(%q) = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "\n", "0 0", "a b c", "0 0 -1", "0 0 4294967296", "0 0 1\nx"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v", text, got)
		}
	}
}

func TestKinds(t *testing.T) {
	for _, c := range []struct {
		m               Map
		initial, single bool
	}{
		{Map{{0, 0, 1<<32 - 1}}, true, false},
		{Map{{0, 1000, 1}}, false, true},
		{Map{{0, 1000, 1}, {1, 100000, 65536}}, false, false},
		{Map{{0, 0, 65536}}, false, false},
		{nil, false, false},
	} {
		if c.m.Initial() != c.initial || c.m.Single() != c.single {
			t.Errorf("%v: initial %v, single %v", c.m, c.m.Initial(), c.m.Single())
		}
	}
}

func TestIdentityAndSys(t *testing.T) {
	m := Map{{0, 1000, 1}, {1, 100000, 65536}}
	if got := m.Identity(); !slices.Equal(got, Map{{0, 0, 1}, {1, 1, 65536}}) {
		t.Errorf("Identity: %v", got)
	}
	if m[1].Outside != 100000 {
		t.Error("Identity changed its origin")
	}
	sys := m.Sys()
	if len(sys) != 2 || sys[1].ContainerID != 1 || sys[1].HostID != 100000 || sys[1].Size != 65536 {
		t.Errorf("Sys: %v", sys)
	}
}

func TestSelf(t *testing.T) {
	uids, gids, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := lookup(uids, uint32(os.Getuid())); !ok {
		t.Errorf("our uid %d is not in %v", os.Getuid(), uids)
	}
	if _, ok := lookup(gids, uint32(os.Getgid())); !ok {
		t.Errorf("our gid %d is not in %v", os.Getgid(), gids)
	}
}

func TestHost(t *testing.T) {
	m := Map{{0, 1000, 1}, {1, 100000, 65536}}
	for in, want := range map[uint32]uint32{0: 1000, 1: 100000, 65536: 165535, 70000: 70000} {
		if got := m.Host(in); got != want {
			t.Errorf("%d: %d, want %d", in, got, want)
		}
		if got := m.Inside(want); got != in {
			t.Errorf("%d: back it is %d, want %d", in, got, in)
		}
	}
}

package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func written(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b)
	for d := range 3 {
		var list []Entry
		for i := range 10 {
			list = append(list, Entry{Name: fmt.Sprintf("f\n\xff%d", i), Mode: 0o644, Ino: uint64(i), Size: 1 << 40, MTime: -5, CTime: 1 << 60})
		}
		if err := w.Dir(fmt.Sprint("dir", d), list); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func opened(t testing.TB, content []byte) (*Manifest, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := Open(path)
	if err == nil {
		t.Cleanup(func() { m.Close() })
	}
	return m, err
}

func TestRoundTrip(t *testing.T) {
	m, err := opened(t, written(t))
	if err != nil {
		t.Fatal(err)
	}
	got, ok, err := m.Dir("dir1")
	want := Entry{Name: "f\n\xff7", Mode: 0o644, Ino: 7, Size: 1 << 40, MTime: -5, CTime: 1 << 60}
	if err != nil || !ok || len(got) != 10 || got[want.Name] != want {
		t.Errorf("%v %v %+v", ok, err, got)
	}
	if _, ok, err := m.Dir("dir9"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
}

func TestCutOff(t *testing.T) {
	whole := written(t)
	for n := range len(whole) {
		if _, err := load(bytes.NewReader(whole[:n]), int64(n)); !errors.Is(err, ErrDamaged) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(written(f))
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := load(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			return
		}
		for d := range m.dirs {
			_, _, _ = m.Dir(d) // must not panic or take for ever
		}
	})
}

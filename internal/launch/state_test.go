package launch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/coop-dev/coop/internal/linux/cgroup"
	"github.com/coop-dev/coop/internal/linux/pidfd"
)

// ourselves is a state that names this process.
func ourselves(t *testing.T) State {
	t.Helper()
	start, err := pidfd.StartTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	boot, err := pidfd.BootID()
	if err != nil {
		t.Fatal(err)
	}
	return State{PID: os.Getpid(), StartTime: start, BootID: boot, Host: "h"}
}

func TestStateRoundTrip(t *testing.T) {
	dir := t.TempDir()
	want := ourselves(t)
	want.Cgroup = &cgroup.State{ID: "x"}
	for range 2 { // the second replaces the first
		if err := WriteState(dir, want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadState(dir)
	if err != nil || got.PID != want.PID || got.StartTime != want.StartTime || got.BootID != want.BootID || got.Host != "h" || got.Cgroup == nil || got.Cgroup.ID != "x" {
		t.Errorf("%+v, %v", got, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	if st, err := files[0].Info(); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if err := WriteState(filepath.Join(dir, "none"), want); err == nil {
		t.Error("written into nothing")
	}
}

func TestReadBrokenState(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadState(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for _, text := range []string{"", "{", `{"pid":"x"}`, "[]"} {
		if err := os.WriteFile(filepath.Join(dir, "state.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := ReadState(dir); err == nil {
			t.Errorf("%q: %+v", text, s)
		}
		if _, err := Connect(t.Context(), dir); err == nil {
			t.Errorf("%q: connected", text)
		}
	}
}

// TestFind: only the very process that was written down is found.
func TestFind(t *testing.T) {
	before := fds(t)
	p, err := ourselves(t).Find()
	if err != nil || p.PID != os.Getpid() {
		t.Fatal(err)
	}
	p.Close()
	for name, change := range map[string]func(*State){
		"another boot":    func(s *State) { s.BootID = "x" },
		"no boot":         func(s *State) { s.BootID = "" },
		"another process": func(s *State) { s.StartTime++ },
		"nobody":          func(s *State) { s.PID = 1 << 30 },
		"no pid":          func(s *State) { s.PID = 0 },
		"a group":         func(s *State) { s.PID = -s.PID },
	} {
		s := ourselves(t)
		change(&s)
		if p, err := s.Find(); !errors.Is(err, ErrNotRunning) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if after := fds(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHome(t *testing.T) {
	t.Chdir(t.TempDir())
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ flag, coopHome, home, want string }{
		{"/flag", "/env", "/home/me", "/flag"},
		{"", "/env", "/home/me", "/env"},
		{"", "rel a tive/ü", "/home/me", filepath.Join(cwd, "rel a tive/ü")},
		{"../x", "", "/home/me", filepath.Join(filepath.Dir(cwd), "x")},
		{"", "", "/home/me", "/home/me/.coop"},
	} {
		t.Setenv("COOP_HOME", row.coopHome)
		t.Setenv("HOME", row.home)
		a := &app{flags: globalFlags{home: row.flag}}
		if got, err := a.home(); got != row.want || err != nil {
			t.Errorf("%+v: %q %v", row, got, err)
		}
	}
	t.Setenv("HOME", "")
	if got, err := (&app{}).home(); err != nil || !filepath.IsAbs(got) {
		t.Errorf("without HOME: %q %v", got, err)
	}
}

func TestHomeWithSpacesAndUnicode(t *testing.T) {
	w := newWorld(t)
	home := filepath.Join(w.daemon.Home, "ä ö\tü")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(w.daemon.Socket, filepath.Join(home, "daemon.sock")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(w.daemon.Home)
	w.want(t, 0, "4711\n", "", "--home", "ä ö\tü", "status", "-q")
}

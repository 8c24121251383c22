package script

import (
	"embed"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/coop-dev/coop/test/harness"
)

//go:embed testdata/*.txtar
var stories embed.FS

func TestMain(m *testing.M) {
	if probeOwners() {
		return
	}
	os.Exit(harness.Main(m, harness.Options{}))
}

func TestStories(t *testing.T) {
	bin := coopOnPath(t)
	mode := harness.Mode()
	t.Logf("mode %s", mode)
	testscript.Run(t, testscript.Params{
		Dir: unpack(t),
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+":"+os.Getenv("PATH")+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
			env.Setenv("COOP_HOME", harness.Home())
			env.Setenv("SHARED_HOME", harness.Home())
			env.Setenv("STORY", story(env))
			return nil
		},
		Condition:           func(cond string) (bool, error) { return condition(mode, cond) },
		Cmds:                words(),
		ContinueOnError:     true,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// story is a word that no other story has, for the names of sandboxes.
func story(env *testscript.Env) string {
	return strings.ReplaceAll(strings.TrimPrefix(filepath.Base(env.WorkDir), "script-"), "_", "-")
}

// unpack writes the stories where testscript looks for them: the program may be
// all there is of the repository.
func unpack(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, stories); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "testdata")
}

// coopOnPath gives a directory in which the binary is called coop.
func coopOnPath(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(harness.Bin(), filepath.Join(dir, "coop")); err != nil {
		t.Fatal(err)
	}
	return dir
}

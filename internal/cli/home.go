package cli

import (
	"os"
	"os/user"
	"path/filepath"
)

// home is where the daemon lives: --home, COOP_HOME or ~/.coop, absolute,
// because the daemon does not share our current directory.
func (a *app) home() (string, error) {
	dir := a.flags.home
	if dir == "" {
		dir = os.Getenv("COOP_HOME")
	}
	if dir == "" {
		person, err := personHome()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(person, ".coop")
	}
	return filepath.Abs(dir)
}

// personHome asks the user database when HOME is not set, as in cron and in
// some service managers.
func personHome() (string, error) {
	if dir := os.Getenv("HOME"); dir != "" {
		return dir, nil
	}
	me, err := user.Current()
	if err != nil || me.HomeDir == "" {
		return "", &usageError{message: "HOME is not set and this user has no home directory", hint: "set COOP_HOME"}
	}
	return me.HomeDir, nil
}

package daemon

import (
	"errors"
	"log/slog"
	"os"

	"github.com/coop-dev/coop/internal/config"
	"github.com/coop-dev/coop/internal/sandbox"
)

// anyOwner is for stage 3: in its user namespace a file of root and one of a
// stranger look the same. Stage 1 has asked.
const anyOwner = -1

// settings reads daemon.toml.
func settings(uid int) (config.Daemon, error) {
	dir := config.UserDir(os.Getenv("HOME"))
	if dir == "" {
		return config.DaemonDefaults(), nil
	}
	s, err := config.LoadDaemon(dir, uid)
	return s, explainSettings(err)
}

// explainSettings gives an error of the file its code and its hint.
func explainSettings(err error) error {
	var bad *config.Error
	if !errors.As(err, &bad) {
		return err
	}
	return sandbox.Errorf(sandbox.Code(bad.Code), "%w", err).WithHint("%s", settingsHint(bad.Hint()))
}

func settingsHint(hint string) string {
	if hint == "" {
		return "correct the file"
	}
	return hint
}

// logLevel is COOP_LOG, for who looks into something just now, else log_level.
func logLevel(s config.Daemon) slog.Level {
	l := s.Level()
	if now := os.Getenv("COOP_LOG"); now != "" {
		_ = l.UnmarshalText([]byte(now)) // unknown: as the file says
	}
	return l
}

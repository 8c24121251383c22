package cli

import "github.com/coop-dev/coop/api"

// What the command line itself takes from coop.toml, beside what create does.

// detachKey is the flag's, else the configured one.
func (a *app) detachKey(f viewFlags) (detachKey, error) {
	if f.detachKey != "" {
		return parseDetachKey(f.detachKey)
	}
	return parseDetachKey(defaultDetachKey)
}

// restartRequest is what a restart changes.
func (a *app) restartRequest() (api.RestartRequest, error) {
	a.warnUnreadFile()
	return api.RestartRequest{}, nil
}

package daemon

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
	"github.com/coop-dev/coop/internal/store/postgres"
	"github.com/coop-dev/coop/internal/store/sqlite"
)

// openStore opens what `store` in daemon.toml names.
func (d *daemon) openStore(ctx context.Context) (store.Store, error) {
	if d.settings.Store == "sqlite" {
		return sqlite.Open(ctx, filepath.Join(d.options.Home, "coop.db"), sqlite.Options{Logger: d.log})
	}
	node, err := node(d.options.Home)
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, d.settings.Store, postgres.Options{Node: node, Logger: d.log})
}

var nodeForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

// node tells this home from others on the same database server. It is made once
// and kept in the home: whoever moves the home to another machine or path takes
// his sandboxes with him.
func node(home string) (string, error) {
	path := filepath.Join(home, "node")
	text, err := os.ReadFile(path)
	if err == nil {
		id := strings.TrimSpace(string(text))
		if !nodeForm.MatchString(id) {
			return "", sandbox.Errorf(sandbox.Unavailable, "%s is damaged", path).
				WithHint("it holds 16 hexadecimal digits: those after coop_ in the name of this daemon's schema in the database")
		}
		return id, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", explainHome(home, err)
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	id := hex.EncodeToString(b[:])
	// We hold the daemon's lock: nobody makes it beside us. A name of its own
	// first, so that a crash leaves all of it or nothing.
	fresh := path + ".new"
	if err := os.WriteFile(fresh, []byte(id+"\n"), 0o600); err != nil {
		return "", explainHome(home, err)
	}
	return id, explainHome(home, os.Rename(fresh, path))
}

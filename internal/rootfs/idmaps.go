package rootfs

import (
	"fmt"
	"os"
	"sync"

	"github.com/coop-dev/coop/internal/linux/idmap"
	"github.com/coop-dev/coop/internal/linux/spawn"
)

// idMaps keeps the user namespaces that carry id maps for mounts. Making one
// means cloning a process; id ranges are used again and again, so they are kept.
type idMaps struct {
	mu    sync.Mutex
	known map[string]*os.File
}

func newIDMaps() *idMaps { return &idMaps{known: map[string]*os.File{}} }

func (m *idMaps) get(uids, gids idmap.Map) (*os.File, error) {
	key := fmt.Sprint(uids, gids)
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.known[key]; f != nil {
		return f, nil
	}
	f, err := spawn.UserNS(uids, gids)
	if err != nil {
		return nil, err
	}
	m.known[key] = f
	return f, nil
}

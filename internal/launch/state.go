package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/coop-dev/coop/internal/linux/cgroup"
	"github.com/coop-dev/coop/internal/linux/pidfd"
)

// State is state.json: how a later daemon finds PID 1 again. Pid, start time
// and boot id together name a process for ever.
type State struct {
	PID       int           `json:"pid"`
	StartTime uint64        `json:"startTime"`
	BootID    string        `json:"bootId"`
	Host      string        `json:"host,omitempty"` // key of the host image in use
	Cgroup    *cgroup.State `json:"cgroup,omitempty"`
}

const stateFile = "state.json"

// WriteState replaces state.json in a sandbox's directory.
func WriteState(dir string, s State) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	tmp := filepath.Join(dir, stateFile+".new")
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(dir, stateFile))
}

// ReadState reads it back.
func ReadState(dir string) (State, error) {
	var s State
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(b, &s)
}

// ErrNotRunning says that the process of a state.json is no more.
var ErrNotRunning = errors.New("PID 1 is not running")

// Find gives the process if it is still the one that was written down.
func (s State) Find() (*pidfd.Process, error) {
	boot, err := pidfd.BootID()
	if err != nil {
		return nil, err
	}
	if boot != s.BootID || s.PID <= 0 {
		return nil, fmt.Errorf("%w: the machine was restarted", ErrNotRunning)
	}
	p, err := pidfd.Open(s.PID)
	if errors.Is(err, syscall.ESRCH) {
		return nil, fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	if err != nil { // want of descriptors, for instance, says nothing about it
		return nil, err
	}
	// The pidfd is held: the number cannot be given away between this look and
	// its use.
	start, err := pidfd.StartTime(s.PID)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
		p.Close()
		return nil, err
	}
	if err != nil || start != s.StartTime || !p.Alive() {
		p.Close()
		return nil, fmt.Errorf("%w: pid %d is another process now", ErrNotRunning, s.PID)
	}
	return p, nil
}

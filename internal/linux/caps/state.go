package caps

import (
	"errors"
	"os"
	"strconv"
	"strings"
)

// State is the five sets of a thread.
type State struct {
	Inheritable, Permitted, Effective, Bounding, Ambient Set
}

// ReadSelf reads the state of the calling thread. /proc/self would be that of
// the thread-group leader, whose sets may differ.
func ReadSelf() (State, error) {
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return State{}, err
	}
	return ParseStatus(string(status))
}

// ParseStatus takes the Cap lines out of a /proc/pid/status; all five must be
// there.
func ParseStatus(status string) (State, error) {
	var s State
	fields := map[string]*Set{
		"CapInh": &s.Inheritable,
		"CapPrm": &s.Permitted,
		"CapEff": &s.Effective,
		"CapBnd": &s.Bounding,
		"CapAmb": &s.Ambient,
	}
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(line, ":")
		set, ok := fields[key]
		if !ok {
			continue
		}
		mask, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil {
			return State{}, err
		}
		*set = Set(mask)
		delete(fields, key)
	}
	if len(fields) > 0 {
		return State{}, errors.New("parse /proc status: capability lines missing")
	}
	return s, nil
}

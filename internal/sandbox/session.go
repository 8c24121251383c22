package sandbox

import "time"

// Defaults of a Session.
const (
	DefaultRestartDelay  = 100 * time.Millisecond
	DefaultScrollback    = 256 << 10
	DefaultCtrlCDebounce = 500 * time.Millisecond

	MaxScrollback   = 64 << 20
	MaxRestartDelay = time.Hour
	MaxDebounce     = time.Minute
	MaxBlocked      = 64 // sequences
	MaxBlockedBytes = 64 // of one, as it is written
)

// Session decides about terminal 0 and how the terminals of a sandbox behave.
// The zero value of a field means the default; read them through the methods.
type Session struct {
	AutoRestart     *bool         `json:"autoRestart,omitempty"`
	RestartDelay    time.Duration `json:"restartDelay,omitempty"`
	ScrollbackBytes int64         `json:"scrollbackBytes,omitempty"`
	CtrlCDebounce   time.Duration `json:"ctrlCDebounce,omitempty"` // web clients on terminal 0
	Block           []string      `json:"block,omitempty"`         // what web clients may not send, escaped as "\x04"
}

// Restarts reports whether terminal 0 is started again after it ended.
func (s Session) Restarts() bool { return s.AutoRestart == nil || *s.AutoRestart }

// Delay is how long to wait before that.
func (s Session) Delay() time.Duration { return orDefault(s.RestartDelay, DefaultRestartDelay) }

// Scrollback is how much output is always kept of each terminal.
func (s Session) Scrollback() int64 { return orDefault(s.ScrollbackBytes, DefaultScrollback) }

// Debounce is how long after a Ctrl+C of a web client further ones are dropped.
func (s Session) Debounce() time.Duration { return orDefault(s.CtrlCDebounce, DefaultCtrlCDebounce) }

func orDefault[T time.Duration | int64](v, standard T) T {
	if v == 0 {
		return standard
	}
	return v
}

// Validate checks the bounds. That Block can be understood is for those who
// apply it to say.
func (s Session) Validate() error {
	switch {
	case s.RestartDelay < 0 || s.RestartDelay > MaxRestartDelay:
		return Errorf(Invalid, "session.restartDelay %s is not between 0 and %s", s.RestartDelay, MaxRestartDelay)
	case s.ScrollbackBytes < 0 || s.ScrollbackBytes > MaxScrollback:
		return Errorf(Invalid, "session.scrollback %d is not between 0 and %d bytes", s.ScrollbackBytes, MaxScrollback)
	case s.CtrlCDebounce < 0 || s.CtrlCDebounce > MaxDebounce:
		return Errorf(Invalid, "session.ctrlCDebounce %s is not between 0 and %s", s.CtrlCDebounce, MaxDebounce)
	case len(s.Block) > MaxBlocked:
		return Errorf(Invalid, "session.block has %d sequences, at most %d", len(s.Block), MaxBlocked)
	}
	for _, b := range s.Block {
		if b == "" || len(b) > MaxBlockedBytes {
			return Errorf(Invalid, "session.block: a sequence has 1 to %d characters", MaxBlockedBytes)
		}
	}
	return nil
}

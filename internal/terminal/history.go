package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/coop-dev/coop/internal/terminal/screen"
	"github.com/coop-dev/coop/internal/terminal/store"
)

// History is the stored output of a terminal, as an io.ReaderAt of Size bytes,
// raw. The caller closes it.
type History struct{ *store.History }

// OpenHistory opens the log in dir for reading, when no Terminal has it open.
// An error for which errors.Is(err, os.ErrNotExist) holds: there is none.
func OpenHistory(dir string) (*History, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	l, err := store.Open(dir, 0)
	if err != nil {
		return nil, err
	}
	h, err := l.History()
	return &History{h}, errors.Join(err, l.Close())
}

// History opens what is stored of a terminal now.
func (t *Terminal) History() (*History, error) {
	t.storing.Lock()
	defer t.storing.Unlock()
	h, err := t.store.History()
	if err != nil {
		return nil, fmt.Errorf("terminal log: %w", err)
	}
	return &History{h}, nil
}

// Read copies stored output from offset off on, which History.End gives. It
// does not wait: 0 bytes mean that there are no more yet. at is where the bytes
// begin, past off when older ones are gone.
func (t *Terminal) Read(p []byte, off uint64) (n int, at uint64, err error) {
	t.storing.Lock()
	defer t.storing.Unlock()
	return t.store.ReadAt(p, off)
}

// Watch returns a channel that holds a token after output was stored, and is
// closed when the terminal is. Until stop is called the log can be read, also
// after that. nil: the terminal is closed already.
func (t *Terminal) Watch() (changed <-chan struct{}, stop func()) {
	w := make(chan struct{}, 1)
	t.storing.Lock()
	defer t.storing.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.state.closed {
		return nil, nil
	}
	t.watchers[w] = struct{}{}
	t.readers++
	return w, sync.OnceFunc(func() { t.unwatch(w) })
}

func (t *Terminal) unwatch(w chan struct{}) {
	t.storing.Lock()
	defer t.storing.Unlock()
	t.mu.Lock()
	delete(t.watchers, w)
	closed := t.state.closed
	t.mu.Unlock()
	t.readers--
	if closed {
		_ = t.closeStore() // nothing is buffered
	}
}

// Tail is the offset in h from which the last n lines begin.
func (h *History) Tail(n int) (int64, error) {
	if n <= 0 {
		return h.Size(), nil
	}
	buf := make([]byte, 64<<10)
	for end := h.Size(); end > 0; {
		from := max(0, end-int64(len(buf)))
		part := buf[:end-from]
		if _, err := h.ReadAt(part, from); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			// The last byte of all ends a line and begins none.
			if part[i] != '\n' || from+int64(i) == h.Size()-1 {
				continue
			}
			if n--; n == 0 {
				return from + int64(i) + 1, nil
			}
		}
		end = from
	}
	return 0, nil
}

// scrollback is the older output made harmless, when it is asked for.
func (t *Terminal) scrollback(o ClientOptions) []byte {
	if !o.Scrollback {
		return nil
	}
	h, err := t.History()
	if err != nil {
		t.log.Warn("terminal log not read", "err", err)
		return nil
	}
	defer h.Close()
	from := max(0, h.Size()-t.cfg.Scrollback)
	raw := make([]byte, h.Size()-from)
	n, _ := h.ReadAt(raw, from) // what cannot be read is not shown
	raw = raw[:n]
	if i := bytes.IndexByte(raw, '\n'); from > 0 && i >= 0 {
		raw = raw[i+1:] // the first line may be half a one, or half an escape sequence
	}
	plain := bytes.ReplaceAll(screen.Sanitize(nil, raw), []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n"))
}

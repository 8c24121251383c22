package terminal

import (
	"context"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/internal/terminal/screen"
)

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// viewer is a client with a terminal of its own.
type viewer struct {
	t        *testing.T
	c        *Client
	screen   *screen.Screen
	bytes    []byte // all output, when kept
	keep     bool
	controls []api.Control
	lagged   int
}

func attach(t *testing.T, term *Terminal, o ClientOptions) *viewer {
	t.Helper()
	c, err := term.Attach(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &viewer{t: t, c: c, screen: screen.New(80, 24)}
}

// published returns when what was acknowledged has been handed on too.
func published(term *Terminal) {
	term.storing.Lock()
	defer term.storing.Unlock()
}

// step takes one frame; false: there are no more.
func (v *viewer) step() bool {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	f, err := v.c.Next(ctx)
	if err != nil {
		if ctx.Err() != nil {
			v.t.Error("no frame came")
		}
		return false
	}
	for _, p := range f.Data {
		v.screen.Write(p)
		if v.keep {
			v.bytes = append(v.bytes, p...)
		}
	}
	if f.Control != nil {
		v.controls = append(v.controls, *f.Control)
		switch f.Control.Type {
		case "resize", "screen":
			v.screen.Resize(f.Control.Cols, f.Control.Rows)
		}
		if f.Control.Lagged {
			v.lagged++
		}
	}
	return true
}

// until takes frames up to a control frame of that type.
func (v *viewer) until(kind string) api.Control {
	v.t.Helper()
	for v.step() {
		if n := len(v.controls); n > 0 && v.controls[n-1].Type == kind {
			return v.controls[n-1]
		}
	}
	v.t.Errorf("no %q came, but %+v", kind, v.controls)
	return api.Control{}
}

// waiting reports whether there is a frame to take.
func (v *viewer) waiting() bool {
	v.c.t.mu.Lock()
	defer v.c.t.mu.Unlock()
	return v.c.lagging || len(v.c.queue) > 0
}

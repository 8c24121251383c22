package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coop-dev/coop/client"
)

// answerTimeout is for verbs that ask after the daemon itself: a daemon that
// hangs is one of the answers.
const answerTimeout = 5 * time.Second

var errNoAnswer = errors.New("daemon does not answer")

// connect gives a client that starts the daemon when there is none, and tells
// of one that is not of this version.
func (a *app) connect(ctx context.Context) (*client.Client, error) {
	c, err := a.client(ctx, true)
	if err != nil {
		return nil, err
	}
	return a.checked(ctx, c)
}

// peek gives a client that does not.
func (a *app) peek(ctx context.Context) (*client.Client, error) { return a.client(ctx, false) }

func (a *app) client(ctx context.Context, start bool) (*client.Client, error) {
	if host := a.host(); host != "" {
		token, err := a.token()
		if err != nil {
			return nil, err
		}
		c, err := client.New(client.Options{Host: host, Token: token})
		if err != nil {
			return nil, &usageError{message: err.Error()}
		}
		return c, nil
	}
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	o := client.Options{Socket: filepath.Join(home, "daemon.sock")}
	if start && a.hooks.StartDaemon != nil {
		o.Dial = a.dialStarting(ctx, home)
	}
	return client.New(o)
}

// host is another daemon than the one of home; Coop never starts that one.
func (a *app) host() string {
	if a.flags.host != "" {
		return a.flags.host
	}
	return os.Getenv("COOP_HOST")
}

func (a *app) token() (string, error) {
	if a.flags.tokenFile == "" {
		return os.Getenv("COOP_TOKEN"), nil
	}
	data, err := os.ReadFile(a.flags.tokenFile)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// dialStarting starts the daemon when nobody listens, at most once. Doing it
// where the connection is made means that no request is ever sent twice.
func (a *app) dialStarting(ctx context.Context, home string) func(context.Context, string) (net.Conn, error) {
	start := sync.OnceValue(func() error {
		a.detail("starting the daemon for %s", home)
		return a.hooks.StartDaemon(ctx, home)
	})
	return func(dialCtx context.Context, socket string) (net.Conn, error) {
		conn, err := client.DialUnix(dialCtx, socket)
		if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return conn, err
		}
		// Nobody listens, or the home is no place to listen in: starting the
		// daemon finds out which, and says it better.
		if err := start(); err != nil {
			return nil, err
		}
		return client.DialUnix(dialCtx, socket)
	}
}

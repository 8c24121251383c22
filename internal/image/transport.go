package image

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Transport is how registries are reached; the zero value is as people expect.
type Transport struct {
	Keychain authn.Keychain // nil: Docker's configuration and helpers
	Base     http.RoundTripper
	Stall    time.Duration // how long a registry may send nothing; 0: a minute
}

const defaultStall = time.Minute

func (t Transport) stall() time.Duration {
	if t.Stall > 0 {
		return t.Stall
	}
	return defaultStall
}

func (t Transport) keychain() authn.Keychain {
	if t.Keychain != nil {
		return t.Keychain
	}
	return authn.DefaultKeychain
}

// roundTripper is Base with the guard in front.
func (t Transport) roundTripper(plainHTTP bool) (rt http.RoundTripper, closeIdle func()) {
	base := t.Base
	closeIdle = func() {}
	if base == nil {
		own := &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   20 * time.Second,
			ResponseHeaderTimeout: t.stall(),
			MaxIdleConnsPerHost:   fetchers + 1,
			ForceAttemptHTTP2:     true,
			DisableCompression:    true, // a blob's bytes are what its digest is of
		}
		base, closeIdle = own, own.CloseIdleConnections
	}
	return &guard{inner: base, plainHTTP: plainHTTP}, closeIdle
}

// guard refuses connections without TLS to other machines unless they were
// asked for, whoever asks: a redirect, a token service, or a library that
// thinks a private address is safe.
type guard struct {
	inner     http.RoundTripper
	plainHTTP bool
}

func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !g.plainHTTP && !loopback(r.URL.Host) {
		return nil, errPlain
	}
	return g.inner.RoundTrip(r)
}

var errPlain = sandbox.Errorf(sandbox.Denied, "the registry does not use TLS").
	WithHint("only this machine may be reached without TLS; --plain-http trusts the network as well")

// follow decides about a redirect. From elsewhere none may lead to this machine
// or to the metadata service of a cloud.
func follow(r *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("more than 10 redirects")
	}
	host, first := r.URL.Hostname(), via[0].URL.Hostname()
	if host == first || loopback(first) {
		return nil
	}
	if ip := net.ParseIP(host); loopback(host) || ip != nil && (ip.IsLinkLocalUnicast() || ip.IsUnspecified()) {
		return sandbox.Errorf(sandbox.Denied, "the registry redirects to %.64q", host)
	}
	return nil
}

// stallable ends a request whose answer stops coming.
func stallable(ctx context.Context, after time.Duration) (context.Context, func(), context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(after, func() { cancel(errStalled) })
	return ctx, func() { timer.Reset(after) }, func(cause error) {
		timer.Stop()
		cancel(cause)
	}
}

var errStalled = errors.New("the registry sends nothing any more")

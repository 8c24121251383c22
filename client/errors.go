package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/coop-dev/coop/api"
)

// ErrUnreachable means that no connection to the daemon could be made: nothing
// was sent, so that repeating the call is always safe.
var ErrUnreachable = errors.New("daemon unreachable")

// ErrLost means that the connection broke after the request had been sent:
// what it asked for may or may not have happened.
var ErrLost = errors.New("connection to the daemon lost")

// maxErrorBody bounds what is read of an answer that is not a success.
const maxErrorBody = 1 << 20

// errorFrom turns an answer that is not a success into an *api.Error. A proxy,
// or something that is no daemon at all, may answer without our envelope.
func errorFrom(resp *http.Response) error {
	var body api.ErrorBody
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err == nil && json.Unmarshal(data, &body) == nil && body.Error.Code != "" {
		return &body.Error
	}
	return &api.Error{Code: codeFor(resp.StatusCode), Message: fmt.Sprintf("daemon answered %s", strings.ToLower(resp.Status))}
}

func codeFor(status int) string {
	for _, c := range api.Codes() {
		if c.HTTP == status {
			return c.Code
		}
	}
	return api.CodeInternal
}

// stoppedError reads as the cause a context was cancelled with and is also
// context.Canceled or context.DeadlineExceeded.
type stoppedError struct{ kind, cause error }

func (e *stoppedError) Error() string   { return e.cause.Error() }
func (e *stoppedError) Unwrap() []error { return []error{e.kind, e.cause} }

func stopped(ctx context.Context) error {
	return &stoppedError{kind: ctx.Err(), cause: context.Cause(ctx)}
}

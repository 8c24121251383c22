package api

import "net/http"

// The error codes. A program should decide by these, never by the message.
const (
	CodeInvalid      = "invalid"
	CodeUnauthorized = "unauthorized"
	CodeDenied       = "denied"
	CodeNotFound     = "not_found"
	CodeConflict     = "conflict"
	CodeGone         = "gone"
	CodeTooLarge     = "too_large"
	CodeExhausted    = "exhausted"
	CodeUnsupported  = "unsupported"
	CodeUnavailable  = "unavailable"
	CodeTimeout      = "timeout"
	CodeInternal     = "internal"
)

// Exit statuses of the coop command that are not the sandboxed command's own.
const (
	ExitOK          = 0
	ExitError       = 1
	ExitUsage       = 2
	ExitNotFound    = 3
	ExitUnreachable = 4
	ExitNotBuilt    = 5
	ExitTimeout     = 124 // run, exec: the time limit passed
	ExitCoopFailed  = 125 // run, exec: Coop failed, not the command
	ExitCannotExec  = 126 // run, exec: found but not executable
	ExitNoCommand   = 127 // run, exec: not found
	ExitInterrupted = 130
)

// CodeStatus is one row of the table that maps a code to what HTTP and the
// command line say.
type CodeStatus struct {
	Code string
	HTTP int
	Exit int
}

// Codes is that table, and the only place where the mapping is written down.
func Codes() []CodeStatus {
	return []CodeStatus{
		{CodeInvalid, http.StatusBadRequest, ExitUsage},
		{CodeUnauthorized, http.StatusUnauthorized, ExitError},
		{CodeDenied, http.StatusForbidden, ExitError},
		{CodeNotFound, http.StatusNotFound, ExitNotFound},
		{CodeConflict, http.StatusConflict, ExitError},
		{CodeGone, http.StatusGone, ExitNotFound},
		{CodeTooLarge, http.StatusRequestEntityTooLarge, ExitError},
		{CodeExhausted, http.StatusTooManyRequests, ExitError},
		{CodeUnsupported, http.StatusNotImplemented, ExitError},
		{CodeUnavailable, http.StatusServiceUnavailable, ExitError},
		{CodeTimeout, http.StatusGatewayTimeout, ExitTimeout},
		{CodeInternal, http.StatusInternalServerError, ExitError},
	}
}

// Error is the body of every answer that is not a success, inside
// {"error": …}. It is a Go error too: the client returns it as it came.
type Error struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Hint    string         `json:"hint,omitempty"`
	Details map[string]any `json:"details,omitempty"`
}

// Error gives the message; the hint is for a line of its own.
func (e *Error) Error() string { return e.Message }

// ErrorBody is the envelope of Error.
type ErrorBody struct {
	Error Error `json:"error"`
}

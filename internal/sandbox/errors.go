package sandbox

import (
	"errors"
	"fmt"
)

// Code is what kind of error it is. The codes are the API's; api.Codes maps
// each to an HTTP status and an exit status.
type Code string

// The codes of the contract.
const (
	Invalid     Code = "invalid"
	Denied      Code = "denied"
	NotFound    Code = "not_found"
	Conflict    Code = "conflict"
	Gone        Code = "gone"
	TooLarge    Code = "too_large"
	Exhausted   Code = "exhausted"
	Unsupported Code = "unsupported"
	Unavailable Code = "unavailable"
	Timeout     Code = "timeout"
	Internal    Code = "internal"
)

// Error is an error whose meaning is known: a code, one lower-case line that
// already tells the cause, and where there is something to do about it, a hint.
// Err, when set, is the cause for errors.Is and errors.As.
type Error struct {
	Code    Code
	Message string
	Hint    string
	Details map[string]any
	Err     error
}

// Error is the one line a person sees; the hint is printed apart from it.
func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error with a code. A %w verb keeps its cause for errors.Is.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint returns e with what the person can do about it.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithDetail returns e with one more machine-readable fact.
func (e *Error) WithDetail(key string, value any) *Error {
	c := *e
	c.Details = map[string]any{key: value}
	for k, v := range e.Details {
		c.Details[k] = v
	}
	return &c
}

// CodeOf finds the code in an error chain; Internal when nobody gave one.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

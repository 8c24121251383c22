package cli

import (
	"context"
	"errors"
	"syscall"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
	"github.com/coop-dev/coop/internal/config"
)

// How an error becomes an exit status; the first row that fits decides.
//
//	error                         most verbs         run, exec
//	statusError                   its own            its own
//	usageError                    2                  2
//	cancelled by a signal         130                130
//	stdout closed (EPIPE)         141                141
//	details.exit 5, not built     5                  5
//	details.exitCode 126, 127     –                  that
//	unreachable, lost, no answer  4                  125
//	*api.Error                    api.Codes          125, timeout 124
//	*config.Error                 api.Codes          125
//	anything else                 1                  125

// exitBrokenPipe is what a shell shows for a program killed by SIGPIPE.
const exitBrokenPipe = 128 + int(syscall.SIGPIPE)

// statusError fixes an exit status. A nil err has nothing to say.
type statusError struct {
	status int
	err    error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *statusError) Unwrap() error { return e.err }

// usageError is a mistake in the command line itself.
type usageError struct{ message, hint string }

func (e *usageError) Error() string { return e.message }

func exitStatus(err error) int {
	var fixed *statusError
	var failure *api.Error
	var bad *config.Error
	switch {
	case err == nil:
		return api.ExitOK
	case errors.As(err, &fixed):
		return fixed.status
	case common(err) != 0:
		return common(err)
	case errors.Is(err, client.ErrUnreachable), errors.Is(err, client.ErrLost), errors.Is(err, context.DeadlineExceeded):
		return api.ExitUnreachable
	case errors.As(err, &failure):
		return failureExit(failure)
	case errors.As(err, &bad):
		return codeExit(bad.Code)
	}
	return api.ExitError
}

// common is the part of the table that is the same for every verb.
func common(err error) int {
	var mistake *usageError
	switch {
	case errors.As(err, &mistake):
		return api.ExitUsage
	case errors.Is(err, context.Canceled):
		return api.ExitInterrupted
	case brokenPipe(err):
		return exitBrokenPipe
	}
	return 0
}

// brokenPipe is about our own output; writing to a daemon that went away is
// EPIPE as well.
func brokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) && !errors.Is(err, client.ErrLost) && !errors.Is(err, client.ErrUnreachable)
}

// asCommand gives an error of run or exec its status: scripts must be able to
// tell Coop's failure from the command's.
func asCommand(err error) error {
	var fixed *statusError
	if err == nil || errors.As(err, &fixed) {
		return err
	}
	status := common(err)
	if status == 0 {
		status = commandExit(err)
	}
	return &statusError{status: status, err: err}
}

func commandExit(err error) int {
	var failure *api.Error
	if !errors.As(err, &failure) {
		return api.ExitCoopFailed
	}
	if notBuilt(failure) {
		return api.ExitNotBuilt
	}
	switch code, _ := failure.Details["exitCode"].(float64); { // JSON numbers are float64
	case code == api.ExitCannotExec, code == api.ExitNoCommand:
		return int(code)
	case failure.Code == api.CodeTimeout:
		return api.ExitTimeout
	}
	return api.ExitCoopFailed
}

// failureExit is codeExit, but for the one failure that has a status of its own.
func failureExit(failure *api.Error) int {
	if notBuilt(failure) {
		return api.ExitNotBuilt
	}
	return codeExit(failure.Code)
}

// notBuilt reports whether a base is missing.
func notBuilt(failure *api.Error) bool {
	status, _ := failure.Details["exit"].(float64)
	return status == api.ExitNotBuilt
}

func codeExit(code string) int {
	for _, c := range api.Codes() {
		if c.Code == code {
			return c.Exit
		}
	}
	return api.ExitError
}

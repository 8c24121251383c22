package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/coop-dev/coop/api"
)

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "tell what this host can and cannot do",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return doctor(cmd.Context(), a) },
	}
}

func doctor(ctx context.Context, a *app) error {
	d, err := examine(ctx, a)
	if err != nil {
		return err
	}
	switch {
	case a.flags.json:
		err = a.printJSON(d)
	case !a.flags.quiet:
		err = a.printChecks(d.Checks)
	}
	if err == nil && !d.OK {
		err = &statusError{status: api.ExitError, err: errors.New("a sandbox cannot be made safely on this host")}
	}
	return err
}

// examine looks at this host itself: the daemon may be what cannot start. Only
// another machine has to be asked.
func examine(ctx context.Context, a *app) (*api.Doctor, error) {
	if a.host() != "" {
		c, err := a.peek(ctx)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return c.Doctor(ctx)
	}
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	d := &api.Doctor{OK: true, Mode: "user", Checks: a.hooks.HostChecks(ctx, home)}
	if os.Geteuid() == 0 {
		d.Mode = "root"
	}
	for _, check := range d.Checks {
		d.OK = d.OK && (check.OK || !check.Required)
	}
	return d, nil
}

// printChecks prints ✓ for what is there, ✗ for what is needed and missing, –
// for what is missing and can be done without.
func (a *app) printChecks(checks []api.Check) error {
	width := 0
	for _, check := range checks {
		width = max(width, utf8.RuneCountInString(escape(check.Name)))
	}
	var b bytes.Buffer
	for _, check := range checks {
		fmt.Fprintf(&b, "%s %-*s  %s\n", a.mark(check), width, escape(check.Name), escape(check.Detail))
		if !check.OK && check.Hint != "" {
			fmt.Fprintf(&b, "  %-*s  hint: %s\n", width, "", escape(check.Hint))
		}
	}
	_, err := a.streams.Out.Write(b.Bytes())
	return err
}

func (a *app) mark(check api.Check) string {
	sign, colour := "✓", "32"
	switch {
	case !check.OK && check.Required:
		sign, colour = "✗", "31"
	case !check.OK:
		sign, colour = "–", "33"
	}
	if !a.colours() {
		return sign
	}
	return "\x1b[" + colour + "m" + sign + "\x1b[0m"
}

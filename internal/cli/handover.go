package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/client"
)

// A daemon outlives the program that started it, and an upgrade replaces the
// program. Then a command says so and offers the hand-over: the old daemon ends
// with its sandboxes running on, and the new program's finds them again.

const handOverHint = "coop shutdown --keep ends it, sandboxes go on running, and the next command starts this version"

// checked gives a client of a daemon that is ours, or that the person has heard
// about and wants to keep.
func (a *app) checked(ctx context.Context, c *client.Client) (*client.Client, error) {
	if a.hooks.Version.Version == "" {
		return c, nil
	}
	v, err := c.Version(ctx)
	if err != nil || a.sameVersion(v) {
		return c, nil // the verb's own request says better what is wrong
	}
	if !a.offersHandOver(v) {
		a.warnVersion(v)
		return c, nil
	}
	switch wants, err := a.wantsHandOver(ctx, v); {
	case err != nil:
		return nil, err
	case wants:
		return a.handOver(ctx, c)
	}
	a.rememberDeclined(v)
	return c, nil
}

func (a *app) sameVersion(v *api.Version) bool {
	return v.Version == a.hooks.Version.Version && v.Commit == a.hooks.Version.Commit
}

// warnVersion is one line, and how to change that.
func (a *app) warnVersion(v *api.Version) {
	a.note("warning: %s", a.versionLine(v))
	if !a.flags.quiet && a.host() == "" {
		a.hint(handOverHint)
	}
}

func (a *app) versionLine(v *api.Version) string {
	ours, its := a.hooks.Version.Version, v.Version
	switch compareVersions(its, ours) {
	case -1:
		return fmt.Sprintf("the daemon (%s) is older than this program (%s)", its, ours)
	case 1:
		return fmt.Sprintf("the daemon (%s) is newer than this program (%s)", its, ours)
	}
	if ours == its {
		return fmt.Sprintf("the daemon is another build of %s than this program", its)
	}
	return fmt.Sprintf("the daemon (%s) is not of this program's version (%s)", its, ours)
}

// compareVersions is -1, 0 or 1 for versions such as v1.20.3, and 0 for others:
// they cannot be told apart.
func compareVersions(a, b string) int {
	x, y := versionNumbers(a), versionNumbers(b)
	if x == nil || y == nil {
		return 0
	}
	for i := range x {
		if x[i] != y[i] {
			if x[i] < y[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

func versionNumbers(v string) []int {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "-")
	parts := strings.Split(v, ".")
	if len(parts) != 3 {
		return nil
	}
	numbers := make([]int, len(parts))
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil {
			return nil
		}
		numbers[i] = n
	}
	return numbers
}

// offersHandOver: there is somebody to answer, and the daemon is ours to start.
func (a *app) offersHandOver(v *api.Version) bool {
	in, ok := a.streams.In.(*os.File)
	errOut, ok2 := a.streams.Err.(*os.File)
	if !ok || !ok2 || !isTerminal(in) || !isTerminal(errOut) {
		return false
	}
	return a.host() == "" && a.hooks.StartDaemon != nil && !a.flags.json && !a.flags.quiet && !a.declined(v)
}

// wantsHandOver asks. Who interrupts instead of answering wants neither.
func (a *app) wantsHandOver(ctx context.Context, v *api.Version) (bool, error) {
	a.message("%s", a.versionLine(v))
	_, _ = fmt.Fprint(a.streams.Err, "hand over to this version? sandboxes go on running [y/N] ")
	answer := make(chan string, 1)
	go func() {
		line := make([]byte, 256)
		n, _ := a.streams.In.Read(line) // a terminal gives one line; its end is a no
		answer <- strings.ToLower(strings.TrimSpace(string(line[:n])))
	}()
	select {
	case word := <-answer:
		return word == "y" || word == "yes", nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// handOver ends the old daemon. In the instant before it stops to listen a new
// request may still reach it, which is as good: it serves it first.
func (a *app) handOver(ctx context.Context, c *client.Client) (*client.Client, error) {
	err := c.Shutdown(ctx, true)
	c.Close()
	if err != nil && !errors.Is(err, client.ErrUnreachable) {
		return nil, fmt.Errorf("hand over: %w", err)
	}
	return a.client(ctx, true)
}

// declinedFile remembers a no, so that nobody is asked twice about one daemon.
const declinedFile = "handover.declined"

func (a *app) declinedMark(v *api.Version) string {
	return fmt.Sprintf("%d %d %s %s\n", v.PID, v.StartedAt.UnixNano(), a.hooks.Version.Version, a.hooks.Version.Commit)
}

func (a *app) declined(v *api.Version) bool {
	home, err := a.home()
	if err != nil {
		return false
	}
	mark, err := os.ReadFile(filepath.Join(home, declinedFile))
	return err == nil && string(mark) == a.declinedMark(v)
}

// rememberDeclined may fail: then the question comes again.
func (a *app) rememberDeclined(v *api.Version) {
	if home, err := a.home(); err == nil {
		_ = os.WriteFile(filepath.Join(home, declinedFile), []byte(a.declinedMark(v)), 0o600)
	}
}

package fault

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coop-dev/coop/api"
	"github.com/coop-dev/coop/test/harness"
)

const gigabyte = 1 << 30

// memory reads a line of the daemon's /proc/PID/status, in bytes.
func memory(t *testing.T, line string) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", harness.DaemonPID(t)))
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(l, line+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("no %s in the daemon's status", line)
	return 0
}

// wantSmall fails if the daemon has grown by more than 64 MB at any time since.
func wantSmall(t *testing.T, before int64) {
	t.Helper()
	grown := memory(t, "VmHWM") - before
	t.Logf("the daemon's peak grew by %d MB", grown>>20)
	if grown > 64<<20 {
		t.Errorf("the daemon grew by %d MB", grown>>20)
	}
}

// A gigabyte through an attached exec arrives whole, and the daemon stays small.
func TestGigabyteAttached(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	wantShell(t, c, sb.ID, "true", "")
	before := memory(t, "VmRSS")
	ctx := within(t, 5*time.Minute)
	stream, err := c.Attach(ctx, sb.ID, api.ExecRequest{Command: "exec head -c " + strconv.Itoa(gigabyte) + " /dev/zero"})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	count := &counter{w: sum}
	start := time.Now()
	res, _, err := stream.Run(ctx, nil, count, io.Discard, nil)
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	t.Logf("%d bytes in %s", count.n, time.Since(start).Round(time.Millisecond))
	if got := hex.EncodeToString(sum.Sum(nil)); count.n != gigabyte || got != zeroes(gigabyte) {
		t.Errorf("%d bytes with sum %s", count.n, got)
	}
	wantSmall(t, before)
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.w.Write(p)
}

// zeroes is the sum of n zero bytes.
func zeroes(n int) string {
	sum := sha256.New()
	for block := make([]byte, 1<<20); n > 0; n -= len(block) {
		_, _ = sum.Write(block[:min(n, len(block))]) // never fails
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// A gigabyte through a plain exec is cut, said to be cut, and the command still
// ends by itself.
func TestGigabytePlain(t *testing.T) {
	c := harness.Client(t)
	sb := create(t, c, "")
	wantShell(t, c, sb.ID, "true", "")
	before := memory(t, "VmRSS")
	res, err := c.Exec(within(t, 5*time.Minute), sb.ID, api.ExecRequest{
		Command: "head -c " + strconv.Itoa(gigabyte) + " /dev/zero | tr '\\0' a; exit 3", MaxOutputBytes: 1 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !res.Truncated || res.ExitCode != 3 || len(res.Stdout) != 1<<20 || strings.Trim(res.Stdout, "a") != "" {
		t.Errorf("truncated %v, status %d, %d bytes", res.Truncated, res.ExitCode, len(res.Stdout))
	}
	wantSmall(t, before)
}

package escape

import (
	"os"
	"testing"

	"github.com/coop-dev/coop/test/harness"
)

func TestMain(m *testing.M) {
	if inside() {
		return
	}
	code := harness.Main(m, harness.Options{Tags: "fencetest"})
	if err := os.RemoveAll(probeDir()); err != nil {
		code = 1
	}
	os.Exit(code)
}

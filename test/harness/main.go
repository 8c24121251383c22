package harness

import (
	"os"
	"testing"
)

// Options of a suite.
type Options struct {
	Tags string // build tags of the coop binary, separated by commas
}

// What the keeper tells the inner process.
const (
	envBin  = "COOP_HARNESS_BIN"
	envHome = "COOP_HARNESS_HOME"
)

// Main is the body of TestMain: os.Exit(harness.Main(m, harness.Options{})).
func Main(m *testing.M, o Options) int {
	if os.Getenv(envBin) != "" {
		return m.Run()
	}
	return keep(o)
}

// Bin is the coop binary under test.
func Bin() string { return os.Getenv(envBin) }

// Shared is the home all tests of a program share: the first sandbox of a fresh
// home takes seconds, the next ones milliseconds.
func Shared() Instance { return Instance{Dir: os.Getenv(envHome)} }

// Home is the shared home's directory.
func Home() string { return Shared().Dir }

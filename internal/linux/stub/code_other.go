//go:build !amd64 && !arm64

package stub

// Supported says whether there is a stub for this machine.
const Supported = false

func text() []byte { return nil }

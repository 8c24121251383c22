// Package initbin holds the coop-init binary that is built into coop.
package initbin

import (
	"embed"
	"errors"
	"io/fs"
	"os"

	"github.com/coop-dev/coop/internal/linux/memfd"
)

// Arg0 is the name PID 1 is started under. A program that finds it in its own
// os.Args[0] was built without the small binary and must act as coop-init.
const Arg0 = "coop-init"

//go:embed all:embed
var files embed.FS

// Open gives coop-init as a sealed memory file. `make build` embeds the small
// binary; after a plain `go build` there is none, and the running program
// itself serves as coop-init: the same code, slower to start.
func Open() (program *os.File, embedded bool, err error) {
	code, err := files.ReadFile("embed/coop-init")
	if errors.Is(err, fs.ErrNotExist) {
		code, err = os.ReadFile("/proc/self/exe")
		if err != nil {
			return nil, false, err
		}
		program, err = memfd.Program(Arg0, code)
		return program, false, err
	}
	if err != nil {
		return nil, false, err
	}
	program, err = memfd.Program(Arg0, code)
	return program, true, err
}

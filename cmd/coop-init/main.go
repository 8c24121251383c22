// Command coop-init is PID 1 of a sandbox. It is embedded in coop and of no use
// by itself.
package main

import (
	"os"

	"github.com/coop-dev/coop/internal/pid1"
)

func main() { os.Exit(pid1.Main()) }

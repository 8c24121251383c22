package escape

import (
	"fmt"
	"os"
)

func pid1OOM() attack {
	return attack{
		Class: runtimeClass, Name: "pid1-oom",
		Attack: "make PID 1 the first victim when memory runs out, through /proc/1/oom_score_adj",
		Proves: "what a sandbox can do to its own PID 1",
		Run: func() error {
			var a attempts
			for _, tid := range initThreads() {
				p := fmt.Sprintf("/proc/%d/oom_score_adj", tid)
				a.try(p, os.WriteFile(p, []byte("900"), 0))
			}
			return a.result()
		},
		Allowed: "it harms nobody but the sandbox that does it, which then ends as a whole when memory runs out",
	}
}

package escape

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// bait is a script whose interpreter is whatever program starts it: the classic
// way to make a runtime execute itself inside (CVE-2019-5736).
const bait = "/tmp/bait"

func layBait() error {
	return os.WriteFile(bait, []byte("#!/proc/self/exe\n"), 0o755)
}

// huntRuntime lays the bait and waits until a process inside runs the runtime's
// own program; it returns a handle on that file.
func huntRuntime() (int, error) {
	if err := layBait(); err != nil {
		return -1, err
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		links, _ := filepath.Glob("/proc/[0-9]*/exe")
		for _, link := range links {
			to, err := os.Readlink(link)
			if err != nil || !strings.Contains(to, "memfd:") {
				continue
			}
			if fd, err := unix.Open(link, unix.O_PATH|unix.O_CLOEXEC, 0); err == nil {
				return fd, nil
			}
		}
	}
	return -1, nothing("the runtime's program never showed up")
}

// takeBait makes the daemon start the bait until the hunt is over.
func takeBait(t *testing.T, b *box, done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		default:
			b.home.Exec(t, b.id, bait)
		}
	}
}

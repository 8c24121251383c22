package launch

import (
	"os"

	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// pipes are the three streams of a program: our ends and its own.
type pipes struct {
	stdin, stdout, stderr *os.File
	theirs                [3]*os.File
}

func makePipes(stdin bool) (p *pipes, err error) {
	p = &pipes{}
	defer func() {
		if err != nil {
			p.closeTheirs()
			closeFiles([]*os.File{p.stdin, p.stdout, p.stderr})
		}
	}()
	if stdin {
		p.theirs[0], p.stdin, err = os.Pipe()
	} else {
		p.theirs[0], err = os.Open(os.DevNull)
	}
	if err != nil {
		return p, err
	}
	if p.stdout, p.theirs[1], err = os.Pipe(); err != nil {
		return p, err
	}
	p.stderr, p.theirs[2], err = os.Pipe()
	return p, err
}

func (p *pipes) closeTheirs() { closeFiles(p.theirs[:]) }

// fds in the order the protocol wants: the program's own, then those PID 1
// keeps. Fd makes the program's ends blocking, as programs expect; ours stay
// with the Go poller.
func (p *pipes) fds() []int {
	fds := fdsOf(p.theirs[:])
	if p.stdin != nil {
		fds = append(fds, fdpass.Number(p.stdin))
	}
	return append(fds, fdpass.Number(p.stdout), fdpass.Number(p.stderr))
}

// pollable wraps a received descriptor so that reads park a goroutine.
func pollable(fd int, name string) *os.File {
	_ = fdpass.NonBlock(fd) // at worst a read takes a thread
	return os.NewFile(uintptr(fd), name)
}

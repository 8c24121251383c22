package launch

import (
	"os"

	"github.com/coop-dev/coop/internal/linux/fdpass"
)

// pipes are the three streams of a program: our ends and its own.
type pipes struct {
	stdin, stdout, stderr *os.File
	theirs                []int // stdin, stdout, stderr
}

func makePipes(stdin bool) (p *pipes, err error) {
	p = &pipes{theirs: []int{-1, -1, -1}}
	defer func() {
		if err != nil {
			p.closeTheirs()
			closeFiles([]*os.File{p.stdin, p.stdout, p.stderr})
		}
	}()
	if stdin {
		if p.stdin, p.theirs[0], err = fdpass.Pipe(true); err != nil {
			return p, err
		}
	}
	if p.stdout, p.theirs[1], err = fdpass.Pipe(false); err != nil {
		return p, err
	}
	p.stderr, p.theirs[2], err = fdpass.Pipe(false)
	return p, err
}

func (p *pipes) closeTheirs() {
	for _, fd := range p.theirs {
		if fd >= 0 {
			fdpass.CloseAll([]int{fd})
		}
	}
}

// fds in the order the protocol wants: the program's own, then those PID 1
// keeps. Without stdin PID 1 gives the program an empty one.
func (p *pipes) fds() []int {
	if p.stdin == nil {
		return []int{p.theirs[1], p.theirs[2], fdpass.Number(p.stdout), fdpass.Number(p.stderr)}
	}
	return append(p.theirs[:3:3], fdpass.Number(p.stdin), fdpass.Number(p.stdout), fdpass.Number(p.stderr))
}

// pollable wraps a received descriptor so that reads park a goroutine.
func pollable(fd int, name string) *os.File {
	_ = fdpass.NonBlock(fd) // at worst a read takes a thread
	return os.NewFile(uintptr(fd), name)
}

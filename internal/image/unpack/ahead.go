package unpack

import (
	"io"
	"sync"
)

// ahead reads a stream in another goroutine, so that decompressing and writing
// files happen at the same time.
type ahead struct {
	full, empty chan []byte
	stop        chan struct{}
	done        sync.WaitGroup
	err         error // set before full is closed

	whole, rest []byte
}

const (
	aheadBuffers = 4
	aheadSize    = 256 << 10
)

func readAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan []byte, aheadBuffers), empty: make(chan []byte, aheadBuffers), stop: make(chan struct{})}
	for range aheadBuffers {
		a.empty <- make([]byte, aheadSize)
	}
	a.done.Go(func() { a.fill(r) })
	return a
}

func (a *ahead) fill(r io.Reader) {
	defer close(a.full)
	for {
		select {
		case <-a.stop:
			return
		case b := <-a.empty:
			n, err := readFull(r, b)
			if n > 0 {
				a.full <- b[:n] // never blocks: there are as many places as buffers
			}
			if err != nil {
				a.err = err
				return
			}
		}
	}
}

// readFull is io.ReadFull that keeps the reader's own error.
func readFull(r io.Reader, b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = r.Read(b[n:])
		n += m
	}
	return n, err
}

func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.whole != nil {
			a.empty <- a.whole[:cap(a.whole)]
			a.whole = nil
		}
		b, ok := <-a.full
		if !ok {
			return 0, a.err
		}
		a.whole, a.rest = b, b
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// close ends the goroutine. The reader it reads from must not block for ever.
func (a *ahead) close() {
	close(a.stop)
	a.done.Wait()
}

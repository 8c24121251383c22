package server

import (
	"io"
	"sync"

	"github.com/coop-dev/coop/api"
)

// stdinQueueSize bounds what a client may be ahead of a command that does not
// read. One frame always fits.
const stdinQueueSize = api.MaxFrame

// stdinQueue stands between the frames of a client and the stdin of a command,
// so that a command that does not read does not keep signal frames away: only
// when it is full is the client made to wait. One goroutine pushes, one reads.
type stdinQueue struct {
	mu      sync.Mutex
	buf     []byte
	closed  bool          // no more will come
	dropped bool          // nobody reads any more
	ready   chan struct{} // holds a token after a change a reader may wait for
	room    chan struct{} // holds a token after a change a pusher may wait for
}

func newStdinQueue() *stdinQueue {
	return &stdinQueue{ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// push takes p, or reports that the queue is full: then a receive from room
// tells when to try again.
func (q *stdinQueue) push(p []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped || q.closed {
		return true
	}
	if len(q.buf) > 0 && len(q.buf)+len(p) > stdinQueueSize {
		return false
	}
	q.buf = append(q.buf, p...)
	notify(q.ready)
	return true
}

// close says that no more will come.
func (q *stdinQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	notify(q.ready)
}

// drop says that nobody reads any more: pushes succeed and go nowhere.
func (q *stdinQueue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped, q.buf = true, nil
	notify(q.room)
	notify(q.ready)
}

// Read waits for bytes; io.EOF comes after close or drop.
func (q *stdinQueue) Read(p []byte) (int, error) {
	for {
		n, done := q.pop(p)
		if n > 0 {
			return n, nil
		}
		if done {
			return 0, io.EOF
		}
		<-q.ready
	}
}

func (q *stdinQueue) pop(p []byte) (n int, done bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = copy(p, q.buf)
	q.buf = q.buf[n:]
	if len(q.buf) == 0 {
		q.buf = nil // give a large burst back
	}
	notify(q.room)
	return n, q.closed || q.dropped
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

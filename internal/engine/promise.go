package engine

// promise is a result that is being worked on. Every promise is waited for,
// also when its result is no longer wanted: it may hold something.
type promise[T any] struct {
	done  chan struct{}
	value T
	err   error
}

func begin[T any](f func() (T, error)) *promise[T] {
	p := &promise[T]{done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.value, p.err = f()
	}()
	return p
}

func (p *promise[T]) wait() (T, error) {
	<-p.done
	return p.value, p.err
}

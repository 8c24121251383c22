package review

import "sync"

// Making and removing files is mostly waiting for the disk: many of them are
// dealt with a few at a time.
const (
	alone   = 64 // up to so many by one alone
	workers = 4
)

// inDirs calls do with portions of a list, each of one directory. When there are
// many, it is called by several at once; the errors of all come back.
func inDirs[T any](list []T, dirOf func(T) int, do func([]T) error) error {
	next := make(chan []T, len(list))
	for _, p := range portions(list, dirOf) {
		next <- p
	}
	close(next)
	n := workers
	if len(list) <= alone {
		n = 1
	}
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for p := range next {
				if errs[i] = do(p); errs[i] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return first(errs)
}

// first is the error that is told: one line, not one for each worker.
func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// portions puts what lies in one directory together.
func portions[T any](list []T, dirOf func(T) int) [][]T {
	byDir := map[int][]T{}
	var order []int
	for _, x := range list {
		d := dirOf(x)
		if byDir[d] == nil {
			order = append(order, d)
		}
		byDir[d] = append(byDir[d], x)
	}
	var out [][]T
	for _, d := range order {
		rest := byDir[d]
		for len(rest) > alone {
			out, rest = append(out, rest[:alone]), rest[alone:]
		}
		out = append(out, rest)
	}
	return out
}

package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coop-dev/coop/internal/sandbox"
	"github.com/coop-dev/coop/internal/store"
)

func lifeTests() map[string]func(*testing.T, store.Store) {
	return map[string]func(*testing.T, store.Store){
		"of many updates of one version exactly one wins": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			errs := together(16, func(int) error {
				mine := *rec
				mine.Status = sandbox.Running
				return s.Update(t.Context(), &mine, turned(1, sandbox.Creating, sandbox.Running))
			})
			oneWins(t, errs)
			wantEvents(t, s, rec.ID, "create", "transition")
		},
		"of many creates of one name exactly one wins": func(t *testing.T, s store.Store) {
			errs := together(16, func(n int) error {
				rec := record(n)
				rec.Spec.Name = "same"
				return s.Create(t.Context(), rec, made(n))
			})
			oneWins(t, errs)
			same(t, list(t, s, store.Filter{}).Total, 1)
		},
		"readers do not disturb writers": func(t *testing.T, s store.Store) {
			for n, err := range together(16, func(n int) error {
				rec := record(n)
				if err := s.Create(t.Context(), rec, made(n)); err != nil {
					return err
				}
				if _, err := s.List(t.Context(), store.Filter{Limit: 3}); err != nil {
					return err
				}
				got, err := s.Resolve(t.Context(), rec.Spec.Name)
				if err == nil && got.ID != rec.ID {
					err = fmt.Errorf("resolved %s", got.ID)
				}
				return err
			}) {
				if err != nil {
					t.Errorf("%d: %v", n, err)
				}
			}
		},
		"a cancelled context": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			for name, err := range everything(cancelled(t), s, rec) {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v, want context.Canceled", name, err)
				}
			}
			wantRecord(t, s, rec)
			wantEvents(t, s, "", "create")
		},
		"a deadline that has passed": func(t *testing.T, s store.Store) {
			ctx, cancel := context.WithDeadline(t.Context(), time.Now())
			defer cancel()
			for name, err := range everything(ctx, s, create(t, s, record(1))) {
				if !errors.Is(err, context.DeadlineExceeded) || sandbox.CodeOf(err) != sandbox.Timeout {
					t.Errorf("%s: %v, want a timeout", name, err)
				}
			}
		},
		"close twice, and then nothing works": func(t *testing.T, s store.Store) {
			rec := create(t, s, record(1))
			same(t, s.Close(), nil)
			same(t, s.Close(), nil)
			for name, err := range everything(t.Context(), s, rec) {
				if sandbox.CodeOf(err) != sandbox.Unavailable {
					t.Errorf("%s: %v, want unavailable", name, err)
				}
			}
		},
	}
}

// everything calls each method once.
func everything(ctx context.Context, s store.Store, rec *sandbox.Record) map[string]error {
	changed, other := *rec, record(9)
	_, get := s.Get(ctx, rec.ID)
	_, resolve := s.Resolve(ctx, rec.Spec.Name)
	_, byKey := s.ByKey(ctx, rec.IdempotencyKey)
	_, list := s.List(ctx, store.Filter{})
	_, audit := s.Audit(ctx, "", 0)
	_, bases := s.IDBases(ctx)
	return map[string]error{
		"create": s.Create(ctx, other, made(9)), "update": s.Update(ctx, &changed, turned(9, "", "")),
		"purge": s.Purge(ctx, rec.ID, made(9)), "append": s.Append(ctx, made(9)),
		"get": get, "resolve": resolve, "by key": byKey, "list": list, "audit": audit, "id bases": bases,
	}
}

// together calls do n times at once and gives what each call returned.
func together(n int, do func(n int) error) []error {
	var wg sync.WaitGroup
	start, errs := make(chan struct{}), make([]error, n)
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = do(i)
		})
	}
	close(start)
	wg.Wait()
	return errs
}

func oneWins(t *testing.T, errs []error) {
	t.Helper()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		wantCode(t, err, sandbox.Conflict)
	}
	same(t, won, 1)
}

package sqlite

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
)

// checkpointEvery is after how many writes the log is folded into the
// database: about ten megabytes of log. Rarer is better for the writer, which
// has to fsync once when it starts the log anew.
const checkpointEvery = 256

// checkpointer folds the log into the database beside the writes. SQLite
// would do it inside the unlucky commit that makes the log too long, and that
// commit would wait for fsync: milliseconds, and on a busy disk seconds.
type checkpointer struct {
	writes atomic.Int64
	due    chan struct{}
	stop   context.CancelFunc
	wg     sync.WaitGroup
}

func startCheckpointer(log *slog.Logger, fold func(context.Context) error) *checkpointer {
	ctx, stop := context.WithCancel(context.Background())
	c := &checkpointer{due: make(chan struct{}, 1), stop: stop}
	c.wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-c.due:
			}
			if err := fold(ctx); err != nil && ctx.Err() == nil {
				log.WarnContext(ctx, "checkpoint put off", "err", err)
			}
		}
	})
	return c
}

// wrote counts one commit.
func (c *checkpointer) wrote() {
	if c.writes.Add(1)%checkpointEvery != 0 {
		return
	}
	select {
	case c.due <- struct{}{}:
	default: // one is due already
	}
}

// close waits for a checkpoint under way.
func (c *checkpointer) close() {
	c.stop()
	c.wg.Wait()
}

// checkpoint moves what no reader needs any more, without keeping readers or
// the writer waiting (PASSIVE).
func (s *Store) checkpoint(ctx context.Context) error {
	var busy, inLog, moved int
	return s.reader.QueryRowContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &inLog, &moved)
}

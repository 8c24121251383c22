package copy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/coop-dev/coop/internal/changes/manifest"
	"github.com/coop-dev/coop/internal/linux/beneath"
)

// record writes the manifest of a finished copy. It is a walk of its own: a
// file's ctime changes until its last link is made.
func record(ctx context.Context, top *os.File, path string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	w := manifest.NewWriter(f)
	latest, err := walk(ctx, top, w)
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return settle(ctx, f, latest)
}

// walk writes every directory and gives the latest ctime.
func walk(ctx context.Context, top *os.File, w *manifest.Writer) (latest time.Time, err error) {
	todo := []string{""}
	for len(todo) > 0 {
		if ctx.Err() != nil {
			return latest, context.Cause(ctx)
		}
		path := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		entries, last, err := read(top, path)
		if err != nil {
			return latest, err
		}
		if last.After(latest) {
			latest = last
		}
		for _, e := range entries {
			if e.Mode.IsDir() {
				todo = append(todo, filepath.Join(path, e.Name))
			}
		}
		if err := w.Dir(path, entries); err != nil {
			return latest, err
		}
	}
	return latest, nil
}

func read(top *os.File, path string) (entries []manifest.Entry, latest time.Time, err error) {
	d, err := beneath.Dir(top, path)
	if err != nil {
		return nil, latest, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, latest, err
	}
	for _, name := range names {
		info, err := beneath.Entry(d, name)
		if err != nil {
			return nil, latest, err
		}
		if info.CTime.After(latest) {
			latest = info.CTime
		}
		entries = append(entries, manifest.Entry{
			Name: name, Mode: info.Mode, Ino: info.Ino, Size: info.Size,
			MTime: info.MTime.UnixNano(), CTime: info.CTime.UnixNano(),
		})
	}
	return entries, latest, nil
}

// settleTime bounds the wait for the filesystem's clock.
const settleTime = 5 * time.Second

// settle returns when the filesystem's clock has passed the latest ctime. It is
// coarse, some milliseconds, or a second elsewhere: a program that wrote within
// the same tick would leave no trace in it.
func settle(ctx context.Context, f *os.File, latest time.Time) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settleTime, errors.New("the filesystem's clock stands still"))
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if err := f.Chmod(0o600); err != nil { // any change gives it the present time
			return err
		}
		info, err := beneath.Opened(f)
		if err != nil || info.CTime.After(latest) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("note what the copy is: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coop-dev/coop/internal/review"
	"github.com/coop-dev/coop/internal/sandbox"
)

// recoverReviews ends what the last daemon had begun to apply.
func (e *Engine) recoverReviews(ctx context.Context) {
	for _, id := range review.Journals(e.reviewHome()) {
		if err := e.settleJournal(ctx, id); err != nil {
			e.Log.Error("recover an interrupted approve", "sandbox", id, "err", err) // again before the next review
		}
	}
}

// settleJournals does it for those of one project, which is locked.
func (e *Engine) settleJournals(ctx context.Context, r *sandbox.Record) error {
	for _, id := range review.Journals(e.reviewHome()) {
		other, err := e.Store.Get(ctx, id)
		if id != r.ID && (err != nil || other.Spec.Workspace.Source != r.Spec.Workspace.Source) {
			continue
		}
		if err := e.settleJournal(ctx, id); err != nil {
			return sandbox.Errorf(sandbox.Unavailable, "an earlier approve was interrupted and cannot be ended yet: %w", err).
				WithHint("the journal is %s", review.JournalOf(e.reviewHome(), id))
		}
	}
	return nil
}

// settleJournal ends one interrupted request, writes down how, and leaves a note
// for the next reviewer.
func (e *Engine) settleJournal(ctx context.Context, id sandbox.ID) error {
	i, err := review.Settle(e.reviewHome(), id)
	if err != nil || i == nil {
		return err
	}
	e.Log.Warn("ended an interrupted approve", "sandbox", id, "completed", i.Completed, "files", len(i.Paths))
	line := sandbox.AuditEntry{
		Event: "recover", Sandbox: id, Name: i.Name, Actor: i.Actor, At: time.Now().UTC(), Detail: i.Message(), Project: i.Project,
	}
	if i.Completed {
		line.Event, line.Paths = "approve", i.Paths
	}
	if err := e.Store.Append(ctx, line); err != nil {
		return err
	}
	if err := e.leaveNote(id, i.Message()); err != nil {
		return err
	}
	return i.Forget()
}

func (e *Engine) noteFile(id sandbox.ID) string {
	return filepath.Join(e.reviewHome(), string(id)+".note")
}

func (e *Engine) leaveNote(id sandbox.ID, line string) error {
	f, err := os.OpenFile(e.noteFile(id), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	return err
}

// takeNotes gives what the next reviewer must know, once.
func (e *Engine) takeNotes(id sandbox.ID) []string {
	data, err := os.ReadFile(e.noteFile(id))
	if err != nil {
		return nil
	}
	_ = os.Remove(e.noteFile(id)) // at worst it is told twice
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// ReviewNotes are what the next reviewers will be told.
func (e *Engine) ReviewNotes() []string {
	files, _ := os.ReadDir(e.reviewHome()) // none: nobody has reviewed anything yet
	var out []string
	for _, f := range files {
		if id, ok := strings.CutSuffix(f.Name(), ".note"); ok {
			if data, err := os.ReadFile(e.noteFile(sandbox.ID(id))); err == nil {
				out = append(out, strings.Split(strings.TrimSpace(string(data)), "\n")...)
			}
		}
	}
	return out
}

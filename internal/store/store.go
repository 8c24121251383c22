// Package store says what a metadata store must do; its sub-packages do it.
// storetest is the conformance suite every one of them passes. The store keeps
// records and audit lines and nothing else: it never touches a kernel or a file
// of a sandbox.
//
// Invariant: a change of a record and the audit line that tells of it are one
// transaction; a reader never sees one without the other.
package store

import (
	"context"

	"github.com/coop-dev/coop/internal/sandbox"
)

// Store is implemented by store/sqlite. Errors carry codes of package sandbox:
// NotFound, Conflict (name taken, old version), Gone (deleted id), Unavailable
// (database full, locked or broken).
type Store interface {
	// Create writes a new record with Version 1. A live sandbox of the same
	// name, or a key that was used before, is a Conflict; details.existing
	// holds the id that has it.
	Create(ctx context.Context, rec *sandbox.Record, audit sandbox.AuditEntry) error
	// Update writes rec if the stored version is still rec.Version, and then
	// raises rec.Version by one.
	Update(ctx context.Context, rec *sandbox.Record, audit sandbox.AuditEntry) error
	// Get finds by exact id, deleted ones included.
	Get(ctx context.Context, id sandbox.ID) (*sandbox.Record, error)
	// Resolve finds a live sandbox by name, id or unique id prefix, in this
	// order. An id of a deleted one is Gone, an ambiguous prefix is Invalid
	// and lists the candidates.
	Resolve(ctx context.Context, ref string) (*sandbox.Record, error)
	// ByKey finds the record that was made with an idempotency key, deleted or not.
	ByKey(ctx context.Context, key string) (*sandbox.Record, error)
	// List gives live sandboxes, newest first.
	List(ctx context.Context, f Filter) (Page, error)
	// Purge forgets a record that never became a sandbox: a create that failed
	// or was cancelled. Its audit lines stay.
	Purge(ctx context.Context, id sandbox.ID, audit sandbox.AuditEntry) error
	// Append writes an audit line that goes with no change of a record.
	Append(ctx context.Context, audit sandbox.AuditEntry) error
	// Audit reads lines, newest first. An empty id is every sandbox.
	Audit(ctx context.Context, id sandbox.ID, limit int) ([]sandbox.AuditEntry, error)
	// AuditOf reads the lines about one file of a project, newest first. The
	// lines come without their paths.
	AuditOf(ctx context.Context, project, path string, limit int) ([]sandbox.AuditEntry, error)
	// IDBases lists the id ranges that live sandboxes hold.
	IDBases(ctx context.Context) ([]uint32, error)
	// Close may be called twice.
	Close() error
}

// Filter narrows a list. Zero fields do not narrow; Limit 0 is 100.
type Filter struct {
	Status  sandbox.Status
	Owner   string
	Labels  map[string]string
	Path    string // workspace source, exact
	Limit   int
	Cursor  string
	Deleted bool // deleted ones too
}

// Page is one page of a list; Total counts all that match.
type Page struct {
	Records []*sandbox.Record
	Total   int
	Next    string
}

package outputs

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/output"
)

//go:embed *.sql
var files embed.FS

// Defaults of Limits.
const (
	// DefaultQuota is what the outputs of a tenant may use, in bytes.
	DefaultQuota = 20 << 30
	// DefaultKeep is how long an output is kept.
	DefaultKeep = 30 * 24 * time.Hour
)

// Limits bound what the store keeps. The zero value of a field means its default.
type Limits struct {
	// Quota is what the outputs of one tenant may use, in bytes: their compressed parts, and 1 KiB for each part. A part has up to
	// 512 KiB, and a stream has one at least every 2 seconds in which its tool writes.
	Quota int64
	// Keep is how long an output is kept after it was begun.
	Keep time.Duration
}

// Store stores outputs. It is safe for concurrent use.
type Store struct {
	db     *db.DB
	limits Limits
	// bucket has the data of new chunks; nil means that Postgres has it.
	bucket Bucket
}

var _ output.Reader = (*Store)(nil)

// New returns a Store that uses the database d.
func New(d *db.DB) *Store {
	s := &Store{db: d.With(files)}
	s.LimitOutputs(Limits{})
	return s
}

// LimitOutputs sets the limits. Call it before the first use of the Store.
func (s *Store) LimitOutputs(l Limits) {
	s.limits = Limits{Quota: cmp.Or(l.Quota, DefaultQuota), Keep: cmp.Or(l.Keep, DefaultKeep)}
}

// doneRow is a row of the statements AppendChunk, FinishOutput and ReserveObjects. Done is false if the statement has written nothing.
type doneRow struct{ Done bool }

// quotaCheck is the name of the constraint that enforces the quota.
const quotaCheck = "output_usage_within_quota"

// refConstraint is the name of the constraint that allows one output for each reference.
const refConstraint = "outputs_by_ref"

// markRace marks err as transient if an earlier execution of CreateOutput, whose answer was lost, began the output while this execution waited for it.
// The next execution replaces that output.
func markRace(err error) error {
	var refused *db.Error
	if errors.As(err, &refused) && refused.Constraint == refConstraint {
		return errs.Transient(err)
	}
	return err
}

// overQuota returns an error that wraps output.ErrQuota if err says that a chunk is beyond the quota, and otherwise err.
func overQuota(op string, err error) error {
	var refused *db.Error
	if errors.As(err, &refused) && refused.Constraint == quotaCheck {
		return fmt.Errorf("postgres: %s: %w", op, output.ErrQuota)
	}
	return err
}

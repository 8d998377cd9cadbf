package outputs

import (
	"cmp"
	"context"
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
	// DefaultQuota is what the outputs of a tenant may use, in bytes, compressed.
	DefaultQuota = 20 << 30
	// DefaultKeep is how long an output is kept.
	DefaultKeep = 30 * 24 * time.Hour
)

// Limits bound what the store keeps. The zero value of a field means its default.
type Limits struct {
	// Quota is what the outputs of one tenant may use, in bytes, compressed.
	Quota int64
	// Keep is how long an output is kept after it was begun.
	Keep time.Duration
}

// Store stores outputs. It is safe for concurrent use.
type Store struct {
	db     *db.DB
	limits Limits
}

var _ output.Reader = (*Store)(nil)

// New returns a Store that uses the database d.
func New(d *db.DB) *Store {
	return &Store{db: d.With(files), limits: Limits{Quota: DefaultQuota, Keep: DefaultKeep}}
}

// LimitOutputs sets the limits. Call it before the first use of the Store.
func (s *Store) LimitOutputs(l Limits) {
	s.limits = Limits{Quota: cmp.Or(l.Quota, DefaultQuota), Keep: cmp.Or(l.Keep, DefaultKeep)}
}

// doneRow is a row of the statements AppendChunk and FinishOutput.
type doneRow struct{ Done bool }

// checkViolation is the SQLSTATE of a statement that a check refused: the quota.
const checkViolation = "23514"

// overQuota returns an error that wraps output.ErrQuota if err says that a chunk is beyond the quota, and otherwise err.
func overQuota(op string, err error) error {
	var refused *db.Error
	if errors.As(err, &refused) && refused.State == checkViolation {
		return fmt.Errorf("postgres: %s: %w", op, output.ErrQuota)
	}
	return err
}

const (
	// tries is how often a statement of a writer is tried; about three seconds in all.
	tries = 4
	// delay is the pause after the first try. It doubles after each.
	delay = 200 * time.Millisecond
)

// persist runs a statement of a writer again while the database does not answer, for a short time: the tool runs, and without its
// output its outcome is unknown.
func persist(ctx context.Context, statement func() error) (err error) {
	for try := range tries {
		if err = statement(); err == nil || !errs.IsTransient(err) || ctx.Err() != nil {
			return err
		}
		timer := time.NewTimer(delay << try)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
	return err
}

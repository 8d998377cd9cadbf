package outputs

import (
	"context"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/output"
)

// chunkBatch is how many chunks one statement deletes.
const chunkBatch = 200

type deletedRow struct{ Chunks int64 }

// DeleteOutput deletes the chunks of an output of the tenant. Readers get output.ErrExpired from its beginning on. The audit trail records
// by as the person who deleted it. It returns output.ErrNotFound if there is no such output, or if it has expired already.
func (s *Store) DeleteOutput(ctx context.Context, tenantID, ref, by string) error {
	n, err := s.db.Exec(ctx, "expire an output", db.Query("Expire", db.Values{"ref": db.Text(ref), "tenant_id": db.Text(tenantID), "by": db.Text(by)}))
	if err != nil {
		return err
	}
	if n == 0 {
		return output.ErrNotFound
	}
	for {
		n, err := s.deleteChunks(ctx, ref)
		if err != nil {
			return err
		}
		if n == 0 {
			return s.deleteObjectsOf(ctx, tenantID, ref)
		}
	}
}

// deleteChunks deletes a batch of chunks of an expired output: of the one with a reference, or of any.
func (s *Store) deleteChunks(ctx context.Context, ref string) (int, error) {
	row, _, err := db.First[deletedRow](ctx, s.db, "delete chunks of outputs", db.Query("DeleteChunks", db.Values{"batch": chunkBatch, "cost": chunkCost, "ref": db.Text(ref)}))
	return int(row.Chunks), err
}

// DeleteExpiredOutputs expires up to most outputs whose time is over or that nobody finishes, deletes a batch of chunks of expired
// outputs, deletes up to most rows of outputs that expired more than 30 days ago, and deletes a batch of the objects in the bucket that
// no chunk has. It returns how many rows it changed; 0 means that nothing is left to do.
func (s *Store) DeleteExpiredOutputs(ctx context.Context, most int) (int, error) {
	expired, err := s.db.Exec(ctx, "expire outputs", db.Query("ExpireDue", db.Values{"batch": most}))
	if err != nil {
		return 0, err
	}
	chunks, err := s.deleteChunks(ctx, "")
	if err != nil {
		return 0, err
	}
	forgotten, err := s.db.Exec(ctx, "forget outputs", db.Query("DeleteTombstones", db.Values{"batch": most}))
	if err != nil {
		return 0, err
	}
	reserved, err := s.db.Exec(ctx, "expire reservations of objects", db.Query("ExpireReservations", db.Values{"batch": most}))
	if err != nil {
		return 0, err
	}
	objects, err := s.deleteObjects(ctx, "", "")
	return int(expired) + chunks + int(forgotten) + int(reserved) + objects, err
}

package outputs

import (
	"cmp"
	"context"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/output"
)

// chunkBatch is how many chunks one statement deletes.
const chunkBatch = 200

type deletedRow struct{ Chunks int64 }

type remainsRow struct{ Remains bool }

// DeleteOutput deletes the chunks of an output of the tenant. As soon as it begins, readers get output.ErrExpired. by is the person who
// deletes the output, for the audit trail. If DeleteOutput fails, the caller can repeat it; upkeep also deletes the remaining chunks.
// DeleteOutput returns output.ErrNotFound if there is no such output, or if no chunk and no object of it is left.
func (s *Store) DeleteOutput(ctx context.Context, tenantID, ref, by string) error {
	of := db.Values{"ref": db.Text(ref), "tenant_id": db.Text(tenantID)}
	n, err := s.db.Exec(ctx, "expire an output", db.Query("Expire", of.And("by", db.Text(by))))
	if err != nil {
		return err
	}
	if n == 0 {
		// There is no such output, or the output has expired. An earlier deletion of an expired output may have left chunks or objects.
		row, _, err := db.First[remainsRow](ctx, s.db, "delete an output", db.Query("HasLeft", of))
		if err != nil || !row.Remains {
			return cmp.Or(err, output.ErrNotFound)
		}
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

// deleteChunks deletes one batch of chunks of the expired output ref, or of any expired output if ref is empty. It returns 0 if there is
// nothing to delete.
func (s *Store) deleteChunks(ctx context.Context, ref string) (int, error) {
	row, _, err := db.First[deletedRow](ctx, s.db, "delete chunks of outputs", db.Query("DeleteChunks", db.Values{"batch": chunkBatch, "cost": chunkCost, "ref": db.Text(ref)}))
	return int(row.Chunks), err
}

// DeleteExpiredOutputs expires up to limit outputs whose time is over or that nobody finishes, deletes a batch of chunks of expired
// outputs, and deletes up to limit rows of outputs that expired more than 30 days ago. It returns how many rows it changed; 0 means that
// nothing is left to do.
func (s *Store) DeleteExpiredOutputs(ctx context.Context, limit int) (int, error) {
	expired, err := s.db.Exec(ctx, "expire outputs", db.Query("ExpireDue", db.Values{"batch": limit}))
	if err != nil {
		return 0, err
	}
	chunks, err := s.deleteChunks(ctx, "")
	if err != nil {
		return 0, err
	}
	forgotten, err := s.db.Exec(ctx, "forget outputs", db.Query("DeleteTombstones", db.Values{"batch": limit}))
	if err != nil {
		return 0, err
	}
	return int(expired) + chunks + int(forgotten), nil
}

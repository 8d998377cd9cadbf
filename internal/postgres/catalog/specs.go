package catalog

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
)

// PublishSpecs stores the tools of a worker by tool and digest, for other programs.
func (s *Store) PublishSpecs(ctx context.Context, specs []toolspec.Spec) error {
	const op = "publish specs"
	if len(specs) == 0 {
		return nil
	}
	ids, digests, documents := make([]string, len(specs)), make([]string, len(specs)), make([]*string, len(specs))
	for i, spec := range specs {
		var err error
		if documents[i], err = db.Encoded(spec); err != nil {
			return db.Failure(op, err)
		}
		ids[i], digests[i] = spec.Name, spec.Digest
	}
	_, err := s.db.Exec(ctx, op, db.Query("PublishSpecs", db.Values{"tool_ids": ids, "digests": digests, "specs": documents}))
	return err
}

type specRow struct {
	Spec json.RawMessage
}

// Specs returns the published tools, ordered by name. For each tool it returns the spec that was
// published last.
func (s *Store) Specs(ctx context.Context) ([]toolspec.Spec, error) {
	const op = "specs"
	rows, err := db.All[specRow](ctx, s.db, op, db.Query("Specs", db.Values{}))
	if err != nil {
		return nil, err
	}
	specs := make([]toolspec.Spec, len(rows))
	for i, row := range rows {
		if specs[i], err = db.Decoded[toolspec.Spec](row.Spec); err != nil {
			return nil, db.Failure(op, err)
		}
	}
	return specs, nil
}

package postgres

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
)

// PublishSpecs stores the tools of a worker, by tool and digest, so that other programs know them.
func (s *Store) PublishSpecs(ctx context.Context, specs []toolspec.Spec) error {
	const op = "publish specs"
	if len(specs) == 0 {
		return nil
	}
	ids, digests, documents := make([]string, len(specs)), make([]string, len(specs)), make([]*string, len(specs))
	for i, spec := range specs {
		var err error
		if documents[i], err = encoded(spec); err != nil {
			return failure(op, err)
		}
		ids[i], digests[i] = spec.Name, spec.Digest
	}
	_, err := s.exec(ctx, op, step{"PublishSpecs", named{"tool_ids": ids, "digests": digests, "specs": documents}})
	return err
}

type specRow struct {
	Spec json.RawMessage
}

// Specs returns the published tools, by name, each as the worker that started last has it.
func (s *Store) Specs(ctx context.Context) ([]toolspec.Spec, error) {
	const op = "specs"
	rows, err := all[specRow](ctx, s, op, step{"Specs", named{}})
	if err != nil {
		return nil, err
	}
	specs := make([]toolspec.Spec, len(rows))
	for i, row := range rows {
		if specs[i], err = decoded[toolspec.Spec](row.Spec); err != nil {
			return nil, failure(op, err)
		}
	}
	return specs, nil
}

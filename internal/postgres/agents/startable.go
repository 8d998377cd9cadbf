package agents

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

// CanStartAgent returns trigger.ErrNoAgent if no run of the version of the agent can start. An empty version is the
// active one.
func (s *Store) CanStartAgent(ctx context.Context, name, version string) error {
	_, err := s.AgentToStart(ctx, name, version)
	if errors.Is(err, db.ErrNotFound) {
		return trigger.ErrNoAgent
	}
	return err
}

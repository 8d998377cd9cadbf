package agents

import (
	"context"
	"errors"

	activity "github.com/pawl-run/pawl/activities/agent"
	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/postgres/db"
)

type forkedRow struct {
	Found  bool
	Rounds int
	Bytes  int64
}

// ForkAgentRun writes the run r with a copy of the conversation of its source, unless a run with the ids of r exists. It returns the run
// with these ids. said are the texts of new messages, which come after the copied rounds. Errors: activity.ErrNotFound for a source that
// does not exist or has a parent, activity.ErrNoRound and activity.ErrForkTooLarge.
func (s *Store) ForkAgentRun(ctx context.Context, r activity.NewRun, said []string) (activity.Run, error) {
	const op = "fork agent run"
	values, err := newRunValues(op, r)
	if err != nil {
		return activity.Run{}, err
	}
	texts := make([]string, len(said))
	for i, text := range said {
		texts[i] = db.Text(text)
	}
	row, _, err := db.First[forkedRow](ctx, s.db, op, db.Query("ForkAgentRun", values.With(db.Values{
		"source": db.Text(r.Input.Fork.RunID), "rounds": r.Input.Fork.Rounds, "max_bytes": pawlagent.MaxForkBytes, "texts": texts,
	})))
	if err != nil {
		return activity.Run{}, err
	}
	run, err := s.AgentRun(ctx, r.Run)
	switch {
	case !errors.Is(err, activity.ErrNotFound) || !row.Found:
		return run, err // the run exists, perhaps without its source; or neither exists
	case row.Rounds != r.Input.Fork.Rounds:
		return run, activity.ErrNoRound
	case row.Bytes > pawlagent.MaxForkBytes:
		return run, activity.ErrForkTooLarge
	}
	return run, err
}

package memories

import (
	"context"
	"strings"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// The states of a goal.
const (
	statusOpen      = "open"
	statusCompleted = "completed"
)

// goal returns the goal with an id; an empty id is the active goal.
func (w *write) goal(ctx context.Context, goalID string) (stored, error) {
	if strings.Contains(goalID, "/") {
		return stored{}, capability.ErrNoGoal
	}
	path := goalsDir + "/" + db.Text(goalID)
	if goalID == "" {
		row, found, err := db.Sent[pathRow](ctx, w.store.db, w.tx, db.Query("ActiveGoal", w.of))
		if err != nil {
			return stored{}, err
		}
		if !found {
			return stored{}, capability.ErrNoActiveGoal
		}
		path = row.Path
	}
	e, err := w.read(ctx, path)
	if err == nil && !e.exists() {
		err = capability.ErrNoGoal
	}
	return e, err
}

// CreateGoal implements capability.Plans.
func (s *Store) CreateGoal(ctx context.Context, by capability.MemoryCaller, title, description string) (capability.MemoryEntry, error) {
	return s.write(ctx, "create goal", by, func(w *write) (capability.MemoryEntry, error) {
		return w.add(ctx, goalsDir, "goal-", capability.MemoryEntry{
			Kind: capability.MemoryGoal, Title: db.Text(title), Content: db.Text(description), Status: statusOpen, Active: true, Trust: w.by.Trust,
		}, 0)
	})
}

// SwitchGoal implements capability.Plans.
func (s *Store) SwitchGoal(ctx context.Context, by capability.MemoryCaller, goalID string) (capability.MemoryEntry, error) {
	return s.write(ctx, "switch goal", by, func(w *write) (capability.MemoryEntry, error) {
		before, err := w.goal(ctx, goalID)
		if err != nil {
			return before.MemoryEntry, err
		}
		next := before.MemoryEntry
		if next.Status == statusCompleted {
			return next, capability.ErrGoalCompleted
		}
		next.Active = true
		return w.put(ctx, before, next, 0)
	})
}

// CompleteGoal implements capability.Plans.
func (s *Store) CompleteGoal(ctx context.Context, by capability.MemoryCaller, goalID string) (capability.MemoryEntry, error) {
	return s.write(ctx, "complete goal", by, func(w *write) (capability.MemoryEntry, error) {
		before, err := w.goal(ctx, goalID)
		if err != nil || before.Status == statusCompleted {
			return before.MemoryEntry, err
		}
		next := before.MemoryEntry
		next.Status, next.Active = statusCompleted, false
		return w.put(ctx, before, next, 0)
	})
}

// AddToGoal implements capability.Plans.
func (s *Store) AddToGoal(ctx context.Context, by capability.MemoryCaller, kind capability.MemoryKind, title, content string) (capability.MemoryEntry, error) {
	return s.write(ctx, "add to goal", by, func(w *write) (capability.MemoryEntry, error) {
		goal, err := w.goal(ctx, "")
		if err != nil {
			return goal.MemoryEntry, err
		}
		return w.add(ctx, goal.Path+"/"+string(kind)+"s", "", capability.MemoryEntry{
			Kind: kind, Title: db.Text(title), Content: db.Text(content), Trust: w.by.Trust,
		}, 0)
	})
}

// WriteTodos implements capability.Plans.
func (s *Store) WriteTodos(ctx context.Context, by capability.MemoryCaller, list string) (capability.MemoryEntry, error) {
	return s.write(ctx, "write todos", by, func(w *write) (capability.MemoryEntry, error) {
		before, err := w.read(ctx, todosPath)
		if err != nil {
			return before.MemoryEntry, err
		}
		return w.put(ctx, before, capability.MemoryEntry{Path: todosPath, Kind: capability.MemoryTodos, Content: db.Text(list), Trust: w.by.Trust}, 0)
	})
}

// AddReasoning records a step of reasoning for the run of the caller. Runs of agents call it, and no
// tool does.
func (s *Store) AddReasoning(ctx context.Context, by capability.MemoryCaller, text string) (capability.MemoryEntry, error) {
	return s.write(ctx, "add reasoning", by, func(w *write) (capability.MemoryEntry, error) {
		return w.add(ctx, reasoningDir, "", capability.MemoryEntry{Kind: capability.MemoryReasoning, Content: db.Text(text), Trust: w.by.Trust}, 0)
	})
}

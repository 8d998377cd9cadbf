package capability

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
)

// PlansKey is the typed name of Plans.
var PlansKey = toolspec.NewCapability[Plans]("plans")

// Plans keeps the goals and the list of todos of one session. They are entries of Memory that
// WriteMemory cannot change: a goal is at /goals/ID, its checkpoints and decisions are below it, and
// the list is at /todos.
//
// Each method is repeatable: with the Key of an earlier call it returns what that call did. It takes
// the caller as the methods of Memory do.
type Plans interface {
	// CreateGoal makes a goal and makes it the active goal.
	CreateGoal(ctx context.Context, by MemoryCaller, title, description string) (MemoryEntry, error)
	// SwitchGoal makes an open goal the active goal. It fails with ErrNoGoal or ErrGoalCompleted.
	SwitchGoal(ctx context.Context, by MemoryCaller, goalID string) (MemoryEntry, error)
	// CompleteGoal completes a goal; an empty id means the active goal. If the goal is already completed, it
	// returns the goal unchanged.
	CompleteGoal(ctx context.Context, by MemoryCaller, goalID string) (MemoryEntry, error)
	// AddToGoal adds a checkpoint or a decision to the active goal. It fails with ErrNoActiveGoal if
	// the session has none.
	AddToGoal(ctx context.Context, by MemoryCaller, kind MemoryKind, title, content string) (MemoryEntry, error)
	// WriteTodos replaces the list of todos of the session.
	WriteTodos(ctx context.Context, by MemoryCaller, list string) (MemoryEntry, error)
}

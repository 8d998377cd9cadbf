package capability

// MemoryError is an error of Memory or Plans that the caller can cause, such as a wrong path. Its text is
// safe to show to anyone.
type MemoryError struct{ text string }

// Error returns the text.
func (e *MemoryError) Error() string { return e.text }

func memoryError(text string) error { return &MemoryError{text} }

// Errors of Memory and Plans, each a MemoryError.
var (
	// ErrNoMemory: there is no entry at the path, or it belongs to another tenant or session.
	ErrNoMemory = memoryError("there is no entry at this path")
	// ErrMemoryExists: the path has an entry.
	ErrMemoryExists = memoryError("there is an entry at this path already: use replace or append")
	// ErrMemoryChanged: the entry has another version than the caller expects.
	ErrMemoryChanged = memoryError("the entry has another version: view it again")
	// ErrMemoryPath: the path is malformed or too long.
	ErrMemoryPath = memoryError("the path is not valid: write it as /notes/name, with at most 256 bytes and no . or .. in it")
	// ErrMemoryReserved: the path is in a directory that other tools write.
	ErrMemoryReserved = memoryError("the path is reserved: other tools write the entries below /goals, /todos, /reasoning, /dumps and /remembered")
	// ErrMemoryTooLarge: the entry would be too large.
	ErrMemoryTooLarge = memoryError("the entry would be larger than 32768 bytes")
	// ErrMemorySecret: the entry would hold a text with the shape of a credential.
	ErrMemorySecret = memoryError("the entry would hold a text with the shape of a credential: memory keeps no secrets")
	// ErrMemoryFull: the quota of the session is used up.
	ErrMemoryFull = memoryError("the memory of this session is full: delete entries")
	// ErrMemoryTenantFull: the quota of the tenant is used up.
	ErrMemoryTenantFull = memoryError("the memory of this tenant is full: an operator can delete entries with pawl memory delete")
	// ErrNoMatch: the content does not have the text to replace.
	ErrNoMatch = memoryError("the entry does not have the text to replace")
	// ErrManyMatches: the content has the text to replace more than once.
	ErrManyMatches = memoryError("the entry has the text to replace more than once: give more of the text around it")
	// ErrNoGoal: the session has no goal with the id.
	ErrNoGoal = memoryError("there is no such goal")
	// ErrNoActiveGoal: the session has no active goal.
	ErrNoActiveGoal = memoryError("there is no active goal: create one or switch to one")
	// ErrGoalCompleted: the goal is completed.
	ErrGoalCompleted = memoryError("the goal is completed")
)

package tools

import "github.com/pawl-run/pawl/toolspec"

// All returns the built-in tools, without any ability bound to them.
func All() []toolspec.Tool {
	return []toolspec.Tool{
		CompleteGoal(),
		CreateCheckpoint(),
		CreateGoal(),
		GetCurrentTime(),
		Grep(),
		List(),
		Memory(),
		OutputCache(),
		OutputCacheGrep(),
		ReadFile(),
		ReadReasoning(),
		RecordDecision(),
		Remember(),
		SwitchGoal(),
		WriteFile(),
		WriteTodos(),
	}
}

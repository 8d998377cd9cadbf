package tools

import "github.com/pawl-run/pawl/toolspec"

// All returns the built-in tools, without any ability bound to them.
func All() []toolspec.Tool {
	return []toolspec.Tool{
		GetCurrentTime(),
		Grep(),
		List(),
		OutputCache(),
		OutputCacheGrep(),
		ReadFile(),
		Shell(),
		WriteFile(),
	}
}

package worker

import (
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Option adds to a worker: Tools, Hooks, ToolHooks, Capabilities.
type Option func(*additions)

type additions struct {
	tools        []toolspec.Tool
	hooks        []hook.Hook
	toolHooks    map[string][]hook.Hook
	capabilities []toolspec.Provided
	faults
}

// Tools adds tools to the built-in ones. Being known does not make a tool
// allowed: policy says that.
func Tools(tools ...toolspec.Tool) Option {
	return func(a *additions) { a.tools = append(a.tools, tools...) }
}

// Hooks adds hooks for every tool.
func Hooks(hooks ...hook.Hook) Option {
	return func(a *additions) { a.hooks = append(a.hooks, hooks...) }
}

// ToolHooks adds hooks for one tool. Where this worker has no such tool, it says
// so in its log, for the hooks would never run.
func ToolHooks(toolID string, hooks ...hook.Hook) Option {
	return func(a *additions) {
		if a.toolHooks == nil {
			a.toolHooks = make(map[string][]hook.Hook)
		}
		a.toolHooks[toolID] = append(a.toolHooks[toolID], hooks...)
	}
}

// Capabilities provides what added tools declare beside clock and files.
func Capabilities(provided ...toolspec.Provided) Option {
	return func(a *additions) { a.capabilities = append(a.capabilities, provided...) }
}

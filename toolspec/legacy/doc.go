// Package legacy imports tools of two older forms: a tool with an id, the name of its provider, and
// a hook before and after it, as adapters had before there were stages (HK-13); and definitions as
// JSON, {"type":"function", …}.
//
//	tool, hooks := legacy.Tool[sumIn, sumOut]{ID: "sum", ProvidedBy: "math", …}.Import()
//	os.Exit(worker.Main(worker.Tools(tool), worker.ToolHooks(tool.Definition().ID, hooks...)))
//
// New tools are written with toolspec.Define or DefineSchema, and hooks with hook.New. The package
// must not add a feature that they do not have. Programs of users import it, and adapters of tool
// sources may.
package legacy

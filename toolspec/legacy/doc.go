// Package legacy imports tools of other shapes: that which adapters had before
// there were stages (HK-13), a tool with an id, the name of who provides it, and a
// hook before and after it; and definitions as JSON, {"type":"function", …}.
//
//	tool, hooks := legacy.Tool[sumIn, sumOut]{ID: "sum", ProvidedBy: "math", …}.Import()
//	os.Exit(worker.Main(worker.Tools(tool), worker.ToolHooks(tool.Definition().ID, hooks...)))
//
// New tools are written with toolspec.Define or DefineSchema, and hooks with hook.New. It must
// give the old shape nothing that these lack. Programs of users import it, and
// adapters of tool sources may.
package legacy

// Package agentruns has the commands of runs of agents: agent run, fork, watch, say, stop and runs, and chat. It must not
// ask a model or run a call. It prints what models, tools and people have written through app.Printable and app.OneLine
// only. internal/cli imports it.
package agentruns

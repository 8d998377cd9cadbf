// Package agent describes agents and their runs: what an agent is, what starts a run, and how a run
// ends. It has no I/O. The workflow of a run is in workflows/agent.
package agent

// Package agent has the activities of runs of agents: opening a run, storing what people say, asking the model,
// storing the answers to its calls, and closing the run. It is the only package that asks models for runs.
package agent

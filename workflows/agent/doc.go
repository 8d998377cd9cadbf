// Package agent is the workflow RunAgent: it asks a model, runs the calls of each response as workflows of
// their own, and asks again. The database holds the messages; the history has ids, calls and small values.
package agent

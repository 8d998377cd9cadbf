// Package triggers has the commands of triggers: trigger. It must not start a run: events do. internal/cli imports it.
package triggers

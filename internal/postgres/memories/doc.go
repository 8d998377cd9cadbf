// Package memories stores what the memory and planning tools keep for a session: entries with paths,
// goals, todos and reasoning. It must not decide what a tool may write. Package postgres imports it.
package memories

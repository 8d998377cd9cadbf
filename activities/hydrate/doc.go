// Package hydrate parses the arguments of a call, validates them against the schema of
// the tool, and makes the view of them that people and records may see.
package hydrate

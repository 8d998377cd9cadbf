// Package cache answers read-only calls with the values of earlier equal calls. It keeps a value
// only if the tool or policy says for how long.
package cache

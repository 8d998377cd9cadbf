// Package cache answers read-only calls with the values that the same call got before. It
// keeps a value only if the tool or policy says for how long.
package cache

// Package admit admits calls: it decodes the input, finds or makes the record, and plans what
// the call does.
package admit

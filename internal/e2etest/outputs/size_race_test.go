//go:build race

package outputs

// shrink divides the sizes of values and streams, because the race detector makes a search in a text thirty
// times as slow.
const shrink = 4

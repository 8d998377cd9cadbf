//go:build !race

package outputs

// shrink divides the sizes of values and streams.
const shrink = 1

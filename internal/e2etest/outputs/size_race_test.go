//go:build race

package outputs

// shrink divides the sizes of values and streams: the detector makes a search of a text thirty times as
// slow.
const shrink = 4

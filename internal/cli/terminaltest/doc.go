// Package terminaltest helps tests to find text that controls a terminal or that a terminal
// hides.
package terminaltest

// Package terminaltest helps tests to find text that a terminal would obey or hide.
package terminaltest

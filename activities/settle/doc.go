// Package settle closes the record of a call and writes its audit line.
package settle

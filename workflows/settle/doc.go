// Package settle runs the closing stages of a call and writes its result into the record.
package settle

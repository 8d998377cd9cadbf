// Package devstate lets commands find a `pawl dev` that runs for the same directory.
package devstate

// Package errs says two things of an error: whether it passes by itself, and what of it may
// be logged.
package errs

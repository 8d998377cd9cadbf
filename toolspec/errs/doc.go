// Package errs says two things of an error: whether it passes by itself, and what of it may
// be logged. It tries again what failed with an error that passes by itself.
package errs

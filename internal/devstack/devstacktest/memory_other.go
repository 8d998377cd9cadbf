//go:build !linux

package devstacktest

// dataDir returns "", the system's temporary directory.
func dataDir() string { return "" }

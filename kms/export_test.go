package kms

// Opener makes the client of a service.
type Opener = opener

// New makes a wrapper for the services of a test.
func New(only string, openers map[string]Opener) *Wrapper { return &Wrapper{only, openers} }

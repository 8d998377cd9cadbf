//go:build !unix

package failpoint

// signalSelf panics: this system has no signals.
func signalSelf(By) { panic("failpoint: this system has no signals; run the fault tests on Unix") }

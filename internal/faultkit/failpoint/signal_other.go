//go:build !unix

package failpoint

// signalSelf has no signals here.
func signalSelf(By) { panic("failpoint: this system has no signals; run the fault tests on Unix") }

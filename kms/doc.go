// Package kms wraps Pawl's key rings with keys that never leave a key management service: AWS KMS, Google Cloud KMS, or the transit engine of
// HashiCorp Vault and OpenBao.
//
//	func main() { os.Exit(worker.Main(worker.Tools(mine), worker.KeyWrapper(kms.FromEnv()))) }
//
// It is a module of its own, for the clients of these services bring more code than the whole of Pawl. Its command pawl-kms is pawl with them.
//
// It must never log, nor tell in an error what it was given, what a service answered beside a code, or what it shows to the service who it is.
// Programs of users import it; nothing of Pawl itself does.
package kms

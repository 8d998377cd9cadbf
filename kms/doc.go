// Package kms wraps Pawl's key rings with keys that never leave a key management service: AWS KMS, Google Cloud KMS, or the transit engine of
// HashiCorp Vault and OpenBao.
//
//	func main() { os.Exit(worker.Main(worker.Tools(mine), worker.KeyWrapper(kms.FromEnv()))) }
//
// It is a module of its own, because the clients of these services bring more code than the whole of Pawl. Its command pawl-kms is pawl
// with these clients.
//
// It must never log. Its errors must not contain its input, a credential, or any part of a service's answer but a code. Programs of users
// import it; no package of Pawl does.
package kms

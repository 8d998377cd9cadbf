// Package keys has the commands for keys: keys for the keys of approvers, submitters for the keys
// of submitters, and keyring for the key ring that seals credentials.
package keys

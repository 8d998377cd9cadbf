// Package keys has three commands: `pawl keys` manages the keys of approvers, `pawl submitters`
// the keys of submitters, and `pawl keyring` the key ring that seals credentials.
package keys

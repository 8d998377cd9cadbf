// Package keys has the commands for keys: keys of approvers, submitters, and keyring, which seals credentials.
package keys

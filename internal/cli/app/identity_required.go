package app

import "fmt"

// RequireIdentity returns an error of usage if the flag --as is empty. use says what the identity is for.
func RequireIdentity(by, use string) error {
	if by == "" {
		return Usage(fmt.Errorf("--as is missing: give your identity, %s", use))
	}
	return nil
}

// ForAudit is the use of an identity that the audit trail records.
const ForAudit = "for the audit trail"

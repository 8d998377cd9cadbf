package app

import "fmt"

// RequireIdentity returns a usage error if by, the value of a flag such as --as, is empty. use ends the text of the
// error: it says what the identity is for, such as ForAudit.
func RequireIdentity(flag, by, use string) error {
	if by == "" {
		return Usage(fmt.Errorf("%s is missing: give your identity, %s", flag, use))
	}
	return nil
}

// ForAudit is the parameter use of RequireIdentity if the audit trail records the identity.
const ForAudit = "for the audit trail"

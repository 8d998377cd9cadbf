package app

import "fmt"

// RequireIdentity returns a usage error if by, the value of the flag --as, is empty. use ends the text of the error:
// it says what the identity is for, such as ForAudit.
func RequireIdentity(by, use string) error {
	if by == "" {
		return Usage(fmt.Errorf("--as is missing: give your identity, %s", use))
	}
	return nil
}

// ForAudit is the parameter use of RequireIdentity if the audit trail records the identity.
const ForAudit = "for the audit trail"

package broker

import "fmt"

// Parts returns the names of the parts that a credential of the provider must have and may have. If
// the signer of the provider is not in signers, Parts returns an error.
func (p Provider) Parts(signers Signers) (required, optional []string, err error) {
	if p.Kind == Signed {
		s, ok := signers[p.Signer]
		if !ok {
			return nil, nil, fmt.Errorf("there is no signer %q", p.Signer)
		}
		return s.Parts(), nil, nil
	}
	required, optional = p.Kind.needs()
	return required, optional, nil
}

// SignedIn reports whether the parts of c are enough to send a request, or to get a token without
// the consent of a person.
func (p Provider) SignedIn(c Credential) bool {
	if p.OAuth2 == nil || p.OAuth2.Flow == ClientCredentials {
		return true
	}
	return len(c.Get(FieldAccessToken).Reveal()) > 0 || len(c.Get(FieldRefreshToken).Reveal()) > 0
}

package broker

import "fmt"

// Parts lists what a credential of the provider consists of: what it cannot do
// without, and what it may have besides. A signer that is not among the signers is
// an error.
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

// SignedIn reports whether the parts are enough to send a request, or to get a
// token for one without anybody's consent.
func (p Provider) SignedIn(c Credential) bool {
	if p.OAuth2 == nil || p.OAuth2.Flow == ClientCredentials {
		return true
	}
	return len(c.Get(FieldAccessToken).Reveal()) > 0 || len(c.Get(FieldRefreshToken).Reveal()) > 0
}

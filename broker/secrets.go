package broker

import (
	"context"
	"iter"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

var _ fingerprint.Source = (*Broker)(nil)

// secretsPage is how many sealed credentials one statement reads.
const secretsPage = 100

// Secrets opens the credentials of all connections of all tenants, one at a time, for a search for
// leaks. It stops with an error if a credential does not open, because a secret that cannot be
// searched for is not known to be safe.
func (b *Broker) Secrets(ctx context.Context) iter.Seq2[fingerprint.Credential, error] {
	return func(yield func(fingerprint.Credential, error) bool) {
		var after Binding
		for {
			page, err := b.store.SealedSecrets(ctx, after, secretsPage)
			if err != nil {
				yield(fingerprint.Credential{}, err)
				return
			}
			for _, sealed := range page {
				if !b.yield(sealed, yield) {
					return
				}
				after = sealed.Binding
			}
			if len(page) < secretsPage {
				return
			}
		}
	}
}

func (b *Broker) yield(sealed Sealed, yield func(fingerprint.Credential, error) bool) bool {
	credential, err := b.unseal(sealed)
	if err != nil {
		yield(fingerprint.Credential{}, err)
		return false
	}
	defer credential.Destroy()
	for label, secret := range named(sealed.Binding, credential) {
		if !yield(fingerprint.Credential{Label: label, Secret: secret}, nil) {
			return false
		}
	}
	return true
}

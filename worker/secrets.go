package worker

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

// minPassword is the minimum length of a password or key of the servers of the worker, in bytes. The worker
// does not search its output for a shorter password, because a shorter password may be a word, such as
// "postgres".
const minPassword = 16

// secrets returns the fingerprints of the secrets that the worker knows at the start: the secrets of its
// configuration and the secrets of the option Secret. If it returns an error, it also returns the secrets that
// it could read.
func secrets(c Config, a additions) (*fingerprint.Set, error) {
	live := &fingerprint.Set{}
	plain, err := live.Load(context.Background(), configured{c, a})
	switch {
	case err != nil:
		return live, err
	case len(plain) > 0:
		return live, fmt.Errorf("%s: %w", strings.Join(plain, ", "), fingerprint.ErrPlain)
	}
	return live, nil
}

// ownSecrets returns the secrets of the configuration and the secrets of the option Secret.
func ownSecrets(c Config, a additions) ([]fingerprint.Credential, error) {
	var own []fingerprint.Credential
	for _, named := range a.secrets {
		own = append(own, fingerprint.Credential{Label: "worker.Secret " + named.Label, Secret: named.Secret})
	}
	for _, known := range append(append(mcpSecrets(a.mcpServers), remoteSecrets(a.remoteKeys)...), []fingerprint.Credential{
		{Label: "PAWL_CONNECTION_KEY", Secret: c.ConnectionKey}, {Label: "PAWL_OPENFGA_TOKEN", Secret: []byte(c.OpenFGA.Token)},
		{Label: "the password of PAWL_DATABASE_URL", Secret: urlPassword(c.DatabaseURL)},
		{Label: "the password of PAWL_DATABASE_DIRECT_URL", Secret: urlPassword(c.DatabaseDirectURL)},
		{Label: "the password of PAWL_TRIGGER_DATABASE_URL", Secret: urlPassword(c.TriggerDatabaseURL)},
	}...) {
		if len(known.Secret) >= minPassword && fingerprint.IsDistinctive(known.Secret) {
			own = append(own, known)
		}
	}
	ring, err := c.Codec.ring()
	if err != nil {
		return own, err
	}
	for key := range ring.Secrets() {
		own = append(own, key)
	}
	return own, nil
}

// urlPassword returns the password in an address, or nothing.
func urlPassword(address string) []byte {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	password, _ := u.User.Password()
	return []byte(password)
}

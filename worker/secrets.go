package worker

import (
	"net/url"

	"github.com/pawl-run/pawl/broker/fingerprint"
)

// minPassword is the shortest password of the worker's own servers that is
// looked for in what leaves it, in bytes: "postgres" is a word.
const minPassword = 16

// secrets are the fingerprints of the secrets that are alive in this worker, to
// begin with: what it was configured with and what its user named.
func secrets(c Config, a additions) (*fingerprint.Set, error) {
	live := &fingerprint.Set{}
	for _, named := range a.secrets {
		if err := live.Add("worker.Secret "+named.Label, named.Secret); err != nil {
			return nil, err
		}
	}
	own := map[string][]byte{"PAWL_CONNECTION_KEY": c.ConnectionKey, "PAWL_OPENFGA_TOKEN": []byte(c.OpenFGA.Token)}
	if u, err := url.Parse(c.DatabaseURL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		own["PAWL_DATABASE_URL"] = []byte(password)
	}
	for label, secret := range own {
		if len(secret) >= minPassword {
			_ = live.Add(label, secret) // what is too plain is no secret
		}
	}
	return live, nil
}

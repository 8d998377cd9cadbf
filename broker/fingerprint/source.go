package fingerprint

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Credential is a secret with a name that may be shown.
type Credential struct {
	// Label names the secret and its version; it is not secret itself.
	Label  string
	Secret []byte
}

// Source knows which secrets are alive.
type Source interface {
	// Secrets yields every live credential. The Secret of a credential is valid until the next
	// credential is yielded: the source may clear it then. The sequence ends after an error.
	Secrets(ctx context.Context) iter.Seq2[Credential, error]
}

// Load adds all secrets of the sources. It leaves out secrets that cannot be distinguished from
// other text, and names them in plain: the search cannot say whether they leaked. It is no error if
// the sources have no secrets.
func (s *Set) Load(ctx context.Context, sources ...Source) (plain []string, err error) {
	for _, source := range sources {
		for c, err := range source.Secrets(ctx) {
			if err != nil {
				return plain, fmt.Errorf("fingerprint: live secrets: %w", err)
			}
			switch err := s.Add(c.Label, c.Secret); {
			case errors.Is(err, ErrPlain):
				plain = append(plain, c.Label)
			case err != nil:
				return plain, err
			}
		}
	}
	return plain, nil
}

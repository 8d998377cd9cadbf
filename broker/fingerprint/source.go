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
	// Secrets yields every live credential. Secret is valid until the next one:
	// the source may clear it then. An error ends it.
	Secrets(ctx context.Context) iter.Seq2[Credential, error]
}

// Load adds everything that the sources know. Secrets that are too plain to be
// told from other text are left out, and plain names them: whether they leaked
// nobody can say. Nothing at all to look for is no error.
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

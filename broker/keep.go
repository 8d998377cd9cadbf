package broker

import (
	"fmt"
	"slices"
	"strings"
)

// Keep moves the named parts of an old credential into the one that replaces it, and destroys the
// other old parts. A part that the old credential lacks is an error.
func (c Credential) Keep(sealer Sealer, s Sealed, names []string) (Credential, error) {
	plain, err := sealer.Open(s.Bytes, s.Binding)
	if err != nil {
		return c, err
	}
	defer clear(plain)
	old, err := decodeCredential(plain)
	if err != nil {
		return c, err
	}
	for _, name := range names {
		if len(old.Get(name).Reveal()) == 0 {
			old.Destroy()
			return c, fmt.Errorf("the credential has no part %q; it has %s", name, strings.Join(old.Names(), ", "))
		}
	}
	for _, name := range old.Names() {
		if slices.Contains(names, name) {
			c = c.With(name, old.Get(name))
		} else {
			old.Get(name).Destroy()
		}
	}
	return c, nil
}

package broker

import "errors"

// ErrOtherKey says that the sealer seals with another key than was asked for.
var ErrOtherKey = errors.New("this worker's key ring seals with another key")

// Reseal seals a sealed secret again for the same binding, with the key keyID. It returns
// ErrOtherKey if the sealer uses another key, and ErrSealed if the secret does not open. The
// plaintext is cleared and is never returned.
func Reseal(sealer Sealer, s Sealed, keyID int64) (Sealed, error) {
	plain, err := sealer.Open(s.Bytes, s.Binding)
	if err != nil {
		return Sealed{}, err
	}
	defer clear(plain)
	sealed, by, err := sealer.Seal(plain, s.Binding)
	switch {
	case err != nil:
		return Sealed{}, err
	case by != keyID:
		return Sealed{}, ErrOtherKey
	}
	s.KeyID, s.Bytes = by, sealed
	return s, nil
}

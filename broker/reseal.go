package broker

import "errors"

// ErrOtherKey says that the sealer seals with another key than was asked for.
var ErrOtherKey = errors.New("this worker's key ring seals with another key")

// Reseal seals anew, with the key of that id, what is sealed, for the same place.
// ErrOtherKey: the sealer seals with another one by now, or still; ErrSealed: it
// does not open. What is sealed does not leave it.
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

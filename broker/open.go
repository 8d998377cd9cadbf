package broker

import "bytes"

// OpenPart returns a part of a sealed credential to a caller that sends it nowhere, such as code that verifies a
// signature with it. It needs no grant, so no call may lead to it. The result is empty if the credential has no such
// part. The caller clears the result after use.
func OpenPart(sealer Sealer, s Sealed, part string) ([]byte, error) {
	plain, err := sealer.Open(s.Bytes, s.Binding)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	c, err := decodeCredential(plain)
	if err != nil {
		return nil, err
	}
	defer c.Destroy()
	return bytes.Clone(c.Get(part).Reveal()), nil
}

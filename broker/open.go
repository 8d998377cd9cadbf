package broker

// Open opens a sealed credential for a caller that sends it nowhere, such as one that verifies a signature with it. It
// needs no grant, so no call may lead to it. The caller destroys the credential.
func Open(sealer Sealer, s Sealed) (Credential, error) {
	plain, err := sealer.Open(s.Bytes, s.Binding)
	if err != nil {
		return Credential{}, err
	}
	defer clear(plain)
	return decodeCredential(plain)
}

package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// seal holds digests of a decision. The store keeps them in place of the arguments and the
// proof.
type seal struct {
	// hash identifies the whole decision. A decision may be delivered more than once.
	hash string
	// args is the digest of the edited arguments, or empty.
	args string
}

// digestDecision returns the seal of d. For a nil d it returns an empty seal.
func digestDecision(d *toolspec.Decision) (seal, error) {
	if d == nil {
		return seal{}, nil
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return seal{}, err
	}
	s := seal{hash: digest(raw)}
	if len(d.EditedArgs) > 0 {
		s.args = digest(d.EditedArgs)
	}
	return s, nil
}

// digest returns the hexadecimal SHA-256 of the canonical form of raw. If raw has no canonical
// form, for example because an object repeats a key, digest hashes the bytes as they are: a
// decision that cannot count also needs an identifier.
func digest(raw json.RawMessage) string {
	if canonical, err := strictjson.Digest(raw); err == nil {
		return canonical
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

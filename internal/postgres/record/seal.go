package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// seal is what is kept of a decision in place of its arguments and its proof.
type seal struct {
	// hash names the whole decision: the same one may be delivered again.
	hash string
	// args is the digest of the edited arguments, or empty.
	args string
}

// sealed returns the empty seal for no decision.
func sealed(d *toolspec.Decision) (seal, error) {
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

// digest is the hexadecimal SHA-256 of the canonical form. What has none, such as an object with a key twice, is taken as it stands:
// a decision that cannot count must have a name all the same.
func digest(raw json.RawMessage) string {
	if canonical, err := schema.Digest(raw); err == nil {
		return canonical
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

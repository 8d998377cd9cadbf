package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// decisionDigests has digests of a decision. The store keeps them in place of the arguments and the
// proof.
type decisionDigests struct {
	// whole is the digest of the whole decision. By it, the store finds a decision that is delivered again.
	whole string
	// args is the digest of the edited arguments, or empty.
	args string
}

// digestDecision returns the digests of d. For a nil d they are empty.
func digestDecision(d *toolspec.Decision) (decisionDigests, error) {
	if d == nil {
		return decisionDigests{}, nil
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return decisionDigests{}, err
	}
	digests := decisionDigests{whole: digest(raw)}
	if len(d.EditedArgs) > 0 {
		digests.args = digest(d.EditedArgs)
	}
	return digests, nil
}

// digest returns the hexadecimal SHA-256 of the canonical form of raw. If raw has no canonical
// form, for example because an object repeats a key, digest hashes the bytes as they are: the store
// also records a decision that cannot count.
func digest(raw json.RawMessage) string {
	if canonical, err := strictjson.Digest(raw); err == nil {
		return canonical
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

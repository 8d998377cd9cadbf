package toolspec

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// SubmitterAudience is the audience of a submitter's proof. A token for another audience is not a
// proof.
const SubmitterAudience = "pawl-submitter"

// SubmitterClaims are what a submitter signs: that this actor acts for this subject in this run.
// With a ToolCallID the proof is for that call only, and with an InputDigest for that input only.
type SubmitterClaims struct {
	TenantID    string `json:"tenantId"`
	RunID       string `json:"runId"`
	ActorID     string `json:"actorId"`
	SubjectID   string `json:"subjectId"`
	ToolCallID  string `json:"toolCallId,omitempty"`
	InputDigest string `json:"inputDigest,omitempty"`
}

// SubmitterKeyID names the key of a submitter: the first 32 hexadecimal digits of the
// SHA-256 of its public half.
func SubmitterKeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:])[:32]
}

// MaxProof bounds a proof, in bytes.
const MaxProof = 4 << 10

// IsSubmitterProof reports whether s has the form of a proof: a JSON Web Token for
// SubmitterAudience and nothing else. It does not check the signature. A token for another audience
// is a credential, and must not be sent to Pawl.
func IsSubmitterProof(s string) bool {
	parts := strings.Split(s, ".")
	if len(parts) != 3 || len(s) > MaxProof {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Audience json.RawMessage `json:"aud"`
	}
	return json.Unmarshal(payload, &claims) == nil &&
		(string(claims.Audience) == `"`+SubmitterAudience+`"` || string(claims.Audience) == `["`+SubmitterAudience+`"]`)
}

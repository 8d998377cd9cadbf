package approval

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// evidence says how well the workflow can verify the sender of a decision without the record. A call accepts a
// bounded number of decisions of each kind, so that forged decisions of one kind leave room for decisions of the
// other kinds.
type evidence int

const (
	// unverified: only the activity Review can tell whether the decision counts.
	unverified evidence = iota
	// unlisted: the call does not know the key of the proof. The key may have been registered
	// after the call last read the keys.
	unlisted
	// verified: the signature is valid, and the call knows its key.
	verified
)

// checkEvidence returns the kind of evidence that a decision has, and the token of its proof; nil
// if it has no token. If the decision cannot count, refusal says why; the text is safe to show.
// Otherwise refusal is empty.
//
// A replay must refuse the same signals as the first run. So a change of what checkEvidence refuses needs
// workflow.GetVersion.
func checkEvidence(a *contract.Acceptance, d toolspec.Decision) (kind evidence, token *decisionToken, refusal string) {
	if d.Proof == "" {
		if !a.Unsigned {
			return unverified, nil, toolspec.ReasonUnsigned
		}
		return unverified, nil, ""
	}
	token = parseToken(d.Proof)
	if token == nil { // an ID token, or text that is no proof at all
		if a.IDTokens { // the activity Review verifies the ID token
			return unverified, nil, ""
		}
		return unlisted, nil, ""
	}
	i := slices.IndexFunc(a.Keys, func(k contract.AcceptedKey) bool { return k.ID == token.keyID })
	switch {
	case i < 0 && a.MoreKeys: // the key may be valid although Keys does not have it
		return unverified, token, ""
	case i < 0:
		return unlisted, token, ""
	}
	return verified, token, token.refusal(a.Keys[i], d)
}

// decisionToken is a parsed proof (see package proof), of which the workflow verifies the signature. The activity
// Review verifies that the proof fits the whole decision and has not expired.
type decisionToken struct {
	keyID string
	// signed is the signed text: header and payload. Several tokens can have the same signed text
	// and different signatures, so the quota counts proofs by this text.
	signed    string
	signature []byte
	payload   string
}

const (
	decisionTokenType = "pawl-decision+jwt"
	maxDecisionToken  = 4096 // bytes
)

var tokenEncoding = base64.RawURLEncoding.Strict()

// parseToken parses a proof. It returns nil if the text is not a proof, does not name a
// key or is longer than maxDecisionToken.
func parseToken(text string) *decisionToken {
	parts := strings.Split(text, ".")
	if len(text) > maxDecisionToken || len(parts) != 3 {
		return nil
	}
	var header struct {
		Type string `json:"typ"`
		Key  string `json:"kid"`
	}
	signature, err := tokenEncoding.DecodeString(parts[2])
	if err != nil || !decodeSegment(parts[0], &header) || header.Type != decisionTokenType || header.Key == "" {
		return nil
	}
	return &decisionToken{keyID: header.Key, signed: parts[0] + "." + parts[1], signature: signature, payload: parts[1]}
}

// refusal returns why the token cannot prove the decision d, for example because its signature is not by key. It
// returns an empty string if it finds no reason.
func (t *decisionToken) refusal(key contract.AcceptedKey, d toolspec.Decision) string {
	var claims struct {
		Subject    string `json:"sub"`
		ApprovalID string `json:"approvalId"`
	}
	switch {
	case !t.signedWith(key):
		return "the signature of the proof does not hold"
	case !decodeSegment(t.payload, &claims) || claims.Subject != d.Approver || key.Identity != d.Approver:
		return "the proof is of somebody else than the decision names"
	// A proof from another library need not name a request.
	case claims.ApprovalID != "" && claims.ApprovalID != d.ApprovalID:
		return "the proof is of another decision"
	}
	return ""
}

// signedWith reports whether the token is signed with the key. Ed25519 verification is
// a pure function, so the workflow may call it.
func (t *decisionToken) signedWith(k contract.AcceptedKey) bool {
	if len(k.Public) != ed25519.PublicKeySize {
		return false
	}
	return ed25519.Verify(k.Public, []byte(t.signed), t.signature) //workflowcheck:ignore
}

// decodeSegment decodes the JSON of the header or the payload of a token.
func decodeSegment(segment string, into any) bool {
	raw, err := tokenEncoding.DecodeString(segment)
	if err != nil {
		return false
	}
	err = json.Unmarshal(raw, into) //workflowcheck:ignore
	return err == nil
}

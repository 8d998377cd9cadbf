package approval

import (
	"crypto/ed25519"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestEvidence: which proofs a call refuses by itself, and which only the record can judge.
func TestEvidence(t *testing.T) {
	t.Parallel()
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	public := private.Public().(ed25519.PublicKey)
	segment := func(text string) string { return tokenEncoding.EncodeToString([]byte(text)) }
	token := func(header, payload string) string {
		signed := segment(header) + "." + segment(payload)
		return signed + "." + tokenEncoding.EncodeToString(ed25519.Sign(private, []byte(signed)))
	}
	id, other := toolspec.ApprovalID(testCall, 1), toolspec.ApprovalID(testCall, 2)
	const header, claims = `{"typ":"pawl-decision+jwt","kid":"k1"}`, `{"sub":"user:ann"}`
	whole := token(header, `{"sub":"user:ann","approvalId":"`+id+`"}`)
	cut := strings.LastIndexByte(whole, '.')
	reads, tooLong := longest(func(payload string) string { return token(header, payload) })
	foreign := token(header, `{"sub":"user:ben"}`)
	anns := contract.AcceptedKey{ID: "k1", Identity: "user:ann", Public: public}
	const notAnns, noSignature = "the proof is of somebody else than the decision names", "the signature of the proof does not hold"

	for name, c := range map[string]struct {
		accepts contract.Acceptance
		key     contract.AcceptedKey // the zero value is the key of Ann
		proof   string
		kind    evidence
		token   bool // the proof is a decision token
		refusal string
	}{
		"no proof":                    {refusal: toolspec.ReasonUnsigned},
		"no proof is needed":          {accepts: contract.Acceptance{Unsigned: true}},
		"the key of the approver":     {proof: whole, kind: verified, token: true},
		"a proof that names no call":  {proof: token(header, claims), kind: verified, token: true},
		"of another request":          {proof: token(header, `{"sub":"user:ann","approvalId":"`+other+`"}`), kind: verified, token: true, refusal: "the proof is of another decision"},
		"of another subject":          {proof: foreign, kind: verified, token: true, refusal: notAnns},
		"a key of somebody else":      {proof: whole, key: contract.AcceptedKey{ID: "k1", Identity: "user:ben", Public: public}, kind: verified, token: true, refusal: notAnns},
		"a payload that is no JSON":   {proof: token(header, "sub"), kind: verified, token: true, refusal: notAnns},
		"another signature":           {proof: whole[:cut] + foreign[strings.LastIndexByte(foreign, '.'):], kind: verified, token: true, refusal: noSignature},
		"a key of another kind":       {proof: whole, key: contract.AcceptedKey{ID: "k1", Identity: "user:ann", Public: public[1:]}, kind: verified, token: true, refusal: noSignature},
		"an unknown key":              {proof: token(`{"typ":"pawl-decision+jwt","kid":"k2"}`, claims), kind: unlisted, token: true},
		"a key of a longer list":      {accepts: contract.Acceptance{MoreKeys: true}, proof: token(`{"typ":"pawl-decision+jwt","kid":"k2"}`, claims), token: true},
		"an ID token":                 {accepts: contract.Acceptance{IDTokens: true}, proof: token(`{"typ":"JWT","kid":"k1"}`, claims)},
		"no decision token":           {proof: token(`{"typ":"JWT","kid":"k1"}`, claims), kind: unlisted},
		"names no key":                {proof: token(`{"typ":"pawl-decision+jwt"}`, claims), kind: unlisted},
		"a header that is no JSON":    {proof: token("typ", claims), kind: unlisted},
		"a header that is not base64": {proof: "?" + whole, kind: unlisted},
		"a signature that is not":     {proof: whole + "?", kind: unlisted},
		"two parts":                   {proof: whole[:cut], kind: unlisted},
		"of the greatest length":      {proof: reads, kind: verified, token: true},
		"longer than that":            {proof: tooLong, kind: unlisted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.key.ID == "" {
				c.key = anns
			}
			c.accepts.Keys = []contract.AcceptedKey{c.key}
			kind, parsed, refusal := checkEvidence(&c.accepts, toolspec.Decision{ApprovalID: id, Approver: "user:ann", Proof: c.proof})
			if kind != c.kind || (parsed != nil) != c.token || refusal != c.refusal {
				t.Errorf("kind %d, a token %t, %q; want %d, %t, %q", kind, parsed != nil, refusal, c.kind, c.token, c.refusal)
			}
		})
	}
}

// longest returns the longest token of Ann that a call reads, and one that is at most two bytes longer.
func longest(token func(payload string) string) (reads, tooLong string) {
	for pad := 0; len(tooLong) == 0; pad++ {
		text := token(`{"sub":"user:ann","pad":"` + strings.Repeat("a", pad) + `"}`)
		if len(text) <= maxDecisionToken {
			reads = text
		} else {
			tooLong = text
		}
	}
	return reads, tooLong
}

package hydrate_test

import (
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// TestProofsAreNoCredentials: submitterProof may hold a token that is only for Pawl. A token in another field, or for another audience, is
// a credential and is refused.
func TestProofsAreNoCredentials(t *testing.T) {
	token := func(aud string) string {
		part := base64.RawURLEncoding.EncodeToString
		return part([]byte(`{"alg":"EdDSA","kid":"key"}`)) + "." + part([]byte(`{"aud":`+aud+`,"exp":2000000000}`)) + "." + part(make([]byte, 64))
	}
	const text = `{"toolId":"core__ls","toolCallId":"c","context":{"tenantId":"acme","runId":"r","actorId":"agent:a","requestId":%q},"submitterProof":%q}`
	for _, tc := range []struct {
		name, requestID, proof string
		ok                     bool
	}{
		{"a proof", "r", token(`"pawl-submitter"`), true},
		{"for somebody else", "r", token(`"api"`), false},
		{"for others too", "r", token(`["pawl-submitter","api"]`), false},
		{"for everybody", "r", token(`null`), false},
		{"somewhere else", token(`"pawl-submitter"`), "p", false},
	} {
		if _, fault := hydrate.Decode(fmt.Appendf(nil, text, tc.requestID, tc.proof)); (fault == nil) != tc.ok || fault != nil && fault.Problem.Kind != hydrate.KindSecretShaped {
			t.Errorf("%s: %v", tc.name, fault)
		}
	}
}

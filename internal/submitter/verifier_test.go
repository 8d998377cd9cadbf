package submitter_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/internal/submitter"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// keys has one key of one tenant.
type keys struct {
	public  ed25519.PublicKey
	revoked bool
	stale   bool
	err     error
	ends    time.Time
}

func (k *keys) SubmitterKey(_ context.Context, tenantID, keyID, _, _ string, expiresAt time.Time) (ed25519.PublicKey, bool, bool, error) {
	k.ends = expiresAt
	if k.err != nil || tenantID != "acme" || keyID != "key" {
		return nil, false, false, k.err
	}
	return k.public, !k.revoked, !k.stale, nil
}

func (k *keys) SubmitterKeyNow(ctx context.Context, tenantID, keyID string, expiresAt time.Time) (ed25519.PublicKey, bool, bool, error) {
	return k.SubmitterKey(ctx, tenantID, keyID, "", "", expiresAt)
}

var call = toolspec.SubmitterClaims{
	TenantID: "acme", RunID: "run", ActorID: "agent:one", SubjectID: "user:sue", ToolCallID: "call", InputDigest: "digest",
}

func good() jwt.MapClaims {
	return jwt.MapClaims{
		"aud": toolspec.SubmitterAudience, "exp": 2_000_000_000, "tenantId": "acme", "runId": "run", "actorId": "agent:one", "subjectId": "user:sue",
	}
}

func TestVouched(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, stranger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	sign := func(method jwt.SigningMethod, key any, header, with map[string]any) string {
		t.Helper()
		c := good()
		maps.Copy(c, with)
		token := jwt.NewWithClaims(method, c)
		token.Header["kid"] = "key"
		maps.Copy(token.Header, header)
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	with := func(name string, value any) string {
		return sign(jwt.SigningMethodEdDSA, private, nil, map[string]any{name: value})
	}
	plain := with("iat", 1)
	parts := strings.Split(plain, ".")
	other := strings.Split(with("subjectId", "user:tom"), ".")
	const unsigned, elsewhere = "no submitter key of this tenant has signed it", "it is of another tenant, run, actor or subject"
	for _, tc := range []struct {
		name, proof string
		change      func(*keys, *admit.VouchRow)
		fault       string
	}{
		{"good", plain, nil, ""},
		{"of this call", with("toolCallId", "call"), nil, ""},
		{"of exactly this call", with("inputDigest", "digest"), nil, ""},
		{"for a list of one", with("aud", []string{toolspec.SubmitterAudience}), nil, ""},
		{"of another call", with("toolCallId", "other"), nil, "it is of another call"},
		{"of other arguments", with("inputDigest", "other"), nil, "it is of another call"},
		{"another subject", with("subjectId", "user:tom"), nil, elsewhere},
		{"no subject", with("subjectId", ""), nil, elsewhere},
		{"another actor", with("actorId", "agent:two"), nil, elsewhere},
		{"another run", with("runId", "other"), nil, elsewhere},
		{"another tenant's", with("tenantId", "globex"), nil, elsewhere},
		{"used in another tenant", plain, func(_ *keys, in *admit.VouchRow) { in.Claims.TenantID = "globex" }, unsigned},
		{"over", plain, func(k *keys, _ *admit.VouchRow) { k.stale = true }, "it was over when the call was admitted"},
		{"without an end", with("exp", nil), nil, "it names no key (kid) or no end (exp)"},
		{"of a key that was revoked", plain, func(k *keys, _ *admit.VouchRow) { k.revoked = true }, unsigned},
		{"by a stranger", sign(jwt.SigningMethodEdDSA, stranger, nil, nil), nil, unsigned},
		{"by another key", sign(jwt.SigningMethodEdDSA, private, map[string]any{"kid": "other"}, nil), nil, unsigned},
		{"by no key", sign(jwt.SigningMethodEdDSA, private, map[string]any{"kid": nil}, nil), nil, "it names no key (kid) or no end (exp)"},
		{"with the public key as a password", sign(jwt.SigningMethodHS256, []byte(public), nil, nil), nil, unsigned},
		{"with no signature", sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil, nil), nil, unsigned},
		{"the signature of another", parts[0] + "." + other[1] + "." + parts[2], nil, unsigned},
		{"cut off", parts[0] + "." + parts[1] + ".", nil, unsigned},
		{"for somebody else", with("aud", "api"), nil, "it is not a token for pawl-submitter"},
		{"for others too", with("aud", []string{toolspec.SubmitterAudience, "api"}), nil, "it is not a token for pawl-submitter"},
		{"no token", "yes", nil, "it is not a token for pawl-submitter"},
		{"too long", with("x", strings.Repeat("x", toolspec.MaxProof)), nil, "it is not a token for pawl-submitter"},
		{"a header that is none", base64.RawURLEncoding.EncodeToString([]byte(`[]`)) + "." + parts[1] + "." + parts[2], nil, "it cannot be read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := &keys{public: public}
			in := admit.VouchRow{InvocationID: "inv", Proof: tc.proof, Claims: call}
			if tc.change != nil {
				tc.change(k, &in)
			}
			keyID, fault, err := submitter.New(k).Vouched(t.Context(), in)
			if err != nil || fault != tc.fault || (keyID == "key") != (tc.fault == "") {
				t.Errorf("got %q, %q, %v, want %q", keyID, fault, err, tc.fault)
			}
			if tc.fault == "" && k.ends.Unix() != 2_000_000_000 {
				t.Errorf("the end is asked of %s", k.ends)
			}
		})
	}
	// Of a run that begins, without a call.
	run := call
	run.ToolCallID, run.InputDigest = "", ""
	for what, of := range map[string]struct {
		proof string
		keys  keys
		good  bool
	}{
		"a proof": {plain, keys{public: public}, true}, "one that is over": {plain, keys{public: public, stale: true}, false}, "of a revoked key": {plain, keys{public: public, revoked: true}, false},
		"for one call": {with("toolCallId", "call"), keys{public: public}, false}, "of another actor": {with("actorId", "agent:two"), keys{public: public}, false},
	} {
		if good, err := submitter.New(&of.keys).VouchedNow(t.Context(), of.proof, run); good != of.good || err != nil {
			t.Errorf("%s vouches for a run: %v, %v", what, good, err)
		}
	}
	away := errs.Transient(errors.New("away"))
	if keyID, _, err := submitter.New(&keys{err: away}).Vouched(t.Context(), admit.VouchRow{Proof: plain, Claims: call}); keyID != "" || !errs.IsTransient(err) {
		t.Errorf("without the database: %q, %v", keyID, err)
	}
}

// FuzzVouched: nothing but what the key signed vouches for anybody, and nothing panics.
func FuzzVouched(f *testing.F) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, good())
	token.Header["kid"] = "key"
	text, err := token.SignedString(private)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{text, "", "..", "a.b.c", strings.Replace(text, ".", "..", 1), text[:len(text)-1]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, proof string) {
		keyID, fault, err := submitter.New(&keys{public: public}).Vouched(t.Context(), admit.VouchRow{Proof: proof, Claims: call})
		if err != nil || (keyID == "") != (fault != "") || keyID != "" && proof != text {
			t.Errorf("%q: %q, %q, %v", proof, keyID, fault, err)
		}
	})
}

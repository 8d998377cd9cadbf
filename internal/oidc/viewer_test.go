package oidc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/oidc/oidctest"
)

// TestViewer: a token with which a person reads is verified as a token for a decision is, but for the nonce.
func TestViewer(t *testing.T) {
	t.Parallel()
	p := oidctest.New(t)
	v := verifier(t, issuer(p))
	for name, test := range map[string]struct {
		tenant string
		change func(claims map[string]any)
		at     time.Time
		fault  string
	}{
		"no nonce":               {change: func(c map[string]any) { delete(c, "nonce") }},
		"a nonce of its session": {change: func(c map[string]any) { c["nonce"] = "n-0S6_WzA2Mj" }},
		// The history of the call keeps it.
		"for a decision": {fault: "is for a decision"},
		"expired":        {at: now.Add(2 * time.Hour), change: func(c map[string]any) { delete(c, "nonce") }, fault: "expired"},
		"other client":   {change: func(c map[string]any) { delete(c, "nonce"); c["aud"] = "another" }, fault: "another client"},
		"other tenant":   {tenant: "globex", change: func(c map[string]any) { delete(c, "nonce") }, fault: "not trusted for this tenant"},
		"unverified":     {change: func(c map[string]any) { delete(c, "nonce"); c["email_verified"] = false }, fault: "not verified"},
	} {
		claims := p.Claims("ann@example.com", nonce, now)
		if test.change != nil {
			test.change(claims)
		}
		tenant, at := "acme", now
		if test.tenant != "" {
			tenant = test.tenant
		}
		if !test.at.IsZero() {
			at = test.at
		}
		identity, expires, fault, err := v.Viewer(t.Context(), tenant, p.Sign(claims, nil), at)
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case test.fault != "" && (identity != "" || !strings.Contains(fault, test.fault)):
			t.Errorf("%s: %q, %q, want the fault %q", name, identity, fault, test.fault)
		case test.fault == "" && (identity != ann || fault != "" || !expires.Equal(now.Add(time.Hour).Truncate(time.Second))):
			t.Errorf("%s: %q until %v, %q", name, identity, expires, fault)
		}
	}
	other := oidctest.New(t)
	forged := p.Claims("ann@example.com", "", now)
	if identity, _, fault, err := v.Viewer(t.Context(), "acme", other.Sign(forged, nil), now); identity != "" || fault == "" || err != nil {
		t.Errorf("signed by another provider: %q, %q, %v", identity, fault, err)
	}
	p.Away(true)
	v.Paced(time.Nanosecond, 0, 0, long, long)
	if identity, _, fault, err := v.Viewer(t.Context(), "acme", p.Sign(forged, nil), now); identity != "" || fault != "" || err == nil {
		t.Errorf("while the provider is away: %q, %q, %v", identity, fault, err)
	}
}

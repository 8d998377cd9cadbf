package e2etest

import (
	"crypto/ed25519"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
)

// Relate adds a relation of a tenant.
func (w *World) Relate(tenantID string, r authz.Relation) {
	w.T.Helper()
	if _, err := w.Store.AddRelation(w.T.Context(), tenantID, r, 0, "user:root"); err != nil {
		w.T.Fatal(err)
	}
}

// Revoke removes a relation of a tenant.
func (w *World) Revoke(tenantID string, r authz.Relation) {
	w.T.Helper()
	if err := w.Store.RemoveRelation(w.T.Context(), tenantID, r, "user:root"); err != nil {
		w.T.Fatal(err)
	}
}

// Sue is a person on whose behalf agents make calls.
const Sue = "user:sue"

// Submitter registers a key of a submitter, who can vouch for the subjects of calls of the tenant acme.
func (w *World) Submitter() (key ed25519.PrivateKey, keyID string) {
	w.T.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		w.T.Fatal(err)
	}
	w.Secrets.Never("the submitter's key", private.Seed())
	keyID, _, err = w.Store.AddSubmitter(w.T.Context(), "acme", "web", public, "user:root")
	if err != nil {
		w.T.Fatal(err)
	}
	return private, keyID
}

// OnBehalf returns a call on behalf of Sue. If key is not nil, its submitter vouches for Sue.
func (w *World) OnBehalf(id, toolID string, key ed25519.PrivateKey) toolspec.Invocation {
	w.T.Helper()
	inv := Invocation(id, toolID, `{"text":"hello"}`)
	inv.Context.SubjectID = Sue
	if key != nil {
		if err := pawl.Vouch(&inv, key, time.Hour); err != nil {
			w.T.Fatal(err)
		}
	}
	return inv
}

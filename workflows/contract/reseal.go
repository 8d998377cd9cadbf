package contract

import "slices"

// Reseal is the activity of the workflow ResealSecrets.
var Reseal = Activity[ResealSecretsIn, ResealSecretsOut]{name: "resealSecrets", regular: true}

// maxUnopened is the maximum number of entries in ResealProgress.UnopenedOf.
const maxUnopened = 20

// ResealPlace identifies one version of a secret. Secrets are processed in the order of
// their places; the zero value is before all of them.
type ResealPlace struct {
	TenantID     string `json:"tenantId,omitempty"`
	ConnectionID string `json:"connectionId,omitempty"`
	Version      int    `json:"version,omitempty"`
}

// ResealProgress is the progress of one pass through all secrets. Resealed counts the
// secrets that were sealed anew, and Unopened the secrets that do not open. UnopenedOf
// names the first maxUnopened secrets that do not open.
type ResealProgress struct {
	// After is the place of the last secret that was processed.
	After      ResealPlace   `json:"after"`
	Resealed   int           `json:"resealed,omitempty"`
	Unopened   int           `json:"unopened,omitempty"`
	UnopenedOf []ResealPlace `json:"unopenedOf,omitempty"`
}

// WithUnopened returns p with one more secret that does not open.
func (p ResealProgress) WithUnopened(tenantID, connectionID string) ResealProgress {
	p.Unopened++
	if len(p.UnopenedOf) < maxUnopened {
		p.UnopenedOf = append(slices.Clone(p.UnopenedOf), ResealPlace{TenantID: tenantID, ConnectionID: connectionID})
	}
	return p
}

// ResealSecretsIn is the input of Reseal, which seals secrets with the key KeyID. It
// starts after the place in From.
type ResealSecretsIn struct {
	KeyID int64          `json:"keyId"`
	From  ResealProgress `json:"from"`
}

// ResealSecretsOut is the progress of the pass after the activity.
type ResealSecretsOut struct {
	ResealProgress
	// Done says that the pass is complete.
	Done bool `json:"done,omitempty"`
	// OtherKey says that the worker does not seal with this key.
	OtherKey bool `json:"otherKey,omitempty"`
}

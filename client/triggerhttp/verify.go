package triggerhttp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/pawl-run/pawl/agent/trigger"
)

// Bounds of secrets.
const (
	// maxSecrets is the number of secrets that a sender may change between.
	maxSecrets = 4
	// minSecret is the least size of a secret, in characters.
	minSecret = 16
)

// gitHubSignature is the header of GitHub's signature.
const gitHubSignature = "X-Hub-Signature-256"

// verified returns the id of the event of a request, if one of the secrets has signed it. Secrets are separated by
// white space. The comparison takes the same time for each wrong signature.
func verified(w trigger.WebhookOptions, secrets []byte, header http.Header, body []byte) (eventID string, ok bool) {
	all := strings.Fields(string(secrets))
	if len(all) > maxSecrets {
		return "", false
	}
	for _, secret := range all {
		if len(secret) < minSecret {
			continue
		}
		if w.Signature == trigger.GitHub {
			if signedByGitHub(secret, header, body) {
				// The id of a delivery is not signed, so that another id would make another event of the same body.
				sum := sha256.Sum256(body)
				return "sha256:" + hex.EncodeToString(sum[:]), true
			}
			continue
		}
		hook, err := standardwebhooks.NewWebhook(secret)
		if err == nil && hook.Verify(body, header) == nil {
			return header.Get(standardwebhooks.HeaderWebhookID), true
		}
	}
	return "", false
}

func signedByGitHub(secret string, header http.Header, body []byte) bool {
	given, found := strings.CutPrefix(header.Get(gitHubSignature), "sha256=")
	mac, err := hex.DecodeString(given)
	if !found || err != nil {
		return false
	}
	own := hmac.New(sha256.New, []byte(secret))
	_, _ = own.Write(body) // a hash takes everything
	return hmac.Equal(mac, own.Sum(nil))
}

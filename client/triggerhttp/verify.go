package triggerhttp

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/pawl-run/pawl/agent/trigger"
)

// Bounds of secrets.
const (
	// maxSecrets is the maximum number of secrets at the same time, while a new one replaces an old
	// one.
	maxSecrets = 4
	// minSecret is the least size of a secret, in characters.
	minSecret = 16
)

// gitHubSignature is the header of GitHub's signature.
const gitHubSignature = "X-Hub-Signature-256"

// whsec is the prefix of a secret of Standard Webhooks.
const whsec = "whsec_"

// verifyEvent returns the id of the event of a request, if one of the secrets has signed it. Secrets are separated
// by white space. The time of the comparison does not depend on how much of a wrong signature is right. No secret
// is copied into a string, because the caller clears the secrets, and a string cannot be cleared.
func verifyEvent(w trigger.WebhookOptions, secrets []byte, header http.Header, body []byte) (eventID string, ok bool) {
	all := bytes.Fields(secrets)
	if len(all) > maxSecrets {
		return "", false
	}
	for _, secret := range all {
		if len(secret) < minSecret {
			continue
		}
		if w.Signature == trigger.GitHub {
			if isSignedByGitHub(secret, header, body) {
				// The signature does not cover the delivery id of GitHub. With that id, a sender could repeat a
				// signed body as another event.
				sum := sha256.Sum256(body)
				return "sha256:" + hex.EncodeToString(sum[:]), true
			}
			continue
		}
		if isSignedByStandard(secret, header, body) {
			return header.Get(standardwebhooks.HeaderWebhookID), true
		}
	}
	return "", false
}

func isSignedByStandard(secret []byte, header http.Header, body []byte) bool {
	key, err := base64.StdEncoding.AppendDecode(nil, bytes.TrimPrefix(secret, []byte(whsec)))
	defer clear(key)
	if err != nil {
		return false
	}
	hook, err := standardwebhooks.NewWebhookRaw(key)
	return err == nil && hook.Verify(body, header) == nil
}

func isSignedByGitHub(secret []byte, header http.Header, body []byte) bool {
	given, found := strings.CutPrefix(header.Get(gitHubSignature), "sha256=")
	mac, err := hex.DecodeString(given)
	if !found || err != nil {
		return false
	}
	own := hmac.New(sha256.New, secret)
	_, _ = own.Write(body) // the Write of a hash never fails
	return hmac.Equal(mac, own.Sum(nil))
}

package toolspec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

func TestSecretName(t *testing.T) {
	for _, name := range []string{
		"apiKey", "API_KEY", "api-key", "x-api-key", "X API KEY", "api.key", "password", "PassWord", "passwd", "passphrase", "secret", "secrets",
		"client_secret", "clientSecret", "token", "access_token", "refreshToken", "id-token", "authToken", "bearer_token", "session_token",
		"bearer", "private_key", "signing_key", "access_key", "secret_access_key", "credential", "credentials", "Authorization",
		"authorization_header",
	} {
		if !toolspec.SecretName(name) {
			t.Errorf("%q passes", name)
		}
	}
	for _, name := range []string{
		"", "secretary", "tokenCount", "max_tokens", "tokens", "tokenizer", "passwordless", "keyboard", "key", "apiKeyId", "authorizationId",
		"header", "headers", "cookies", "cookieConsent", "virtualKeyId", "connectionId", "bearers", "path", "secrecy", "_", "-",
	} {
		if toolspec.SecretName(name) {
			t.Errorf("%q is refused", name)
		}
	}
}

// TestSecretValue: the samples are put together at run time so that no scanner
// takes this file for a leak.
func TestSecretValue(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a1", n/2) }
	up := strings.Repeat("A1", 8)
	for _, value := range []string{
		"sk-" + a(20), "sk-ant-" + a(20), "sk_live_" + a(16), "rk_live_" + a(16), "pk_live_" + a(16), "ghp_" + a(36), "gho_" + a(36), "ghs_" + a(36), "ghu_" + a(36), "ghr_" + a(36),
		"github_pat_" + a(22), "glpat-" + a(20), "xoxb-" + a(10), "xoxp-" + a(10), "AKIA" + up, "ASIA" + up, "AIza" + a(36), "ya29." + a(20),
		"eyJ" + a(10) + ".eyJ" + a(10) + "." + a(10),
		"-----BEGIN " + "PRIVATE KEY-----", "-----BEGIN RSA " + "PRIVATE KEY-----", "-----BEGIN OPENSSH " + "PRIVATE KEY-----",
		"Bearer " + a(20), "bearer " + a(20),
	} {
		for _, text := range []string{value, "curl -H '" + value + "' x", `{"a":"` + value + `"}`} {
			if !toolspec.SecretValue(text) {
				t.Errorf("%q passes", text)
			}
		}
	}
	for _, value := range []string{
		"", "sk-short", "task-" + a(30), "risk-" + a(30), "sk_test_" + a(20), "ghp_" + a(34), "AKIA" + up[:15], "AKIA" + up + "A1", "xoxq-" + a(20),
		"Bearer of news", "eyJ" + a(10), "-----BEGIN CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----", strings.Repeat("0f", 32), "user:ann",
	} {
		if toolspec.SecretValue(value) {
			t.Errorf("%q is refused", value)
		}
	}
}

// TestMayHoldSecret: where the quick look says no, no string of the document is a credential, however it is spelled.
func TestMayHoldSecret(t *testing.T) {
	t.Parallel()
	a := strings.Repeat("a", 40)
	for _, secret := range []string{
		"sk-" + a, "sk_live_" + a, "ghp_" + a, "github_pat_" + a, "glpat-" + a, "xoxb-" + a, "AKIA" + strings.ToUpper(a[:16]), "AIza" + a, "ya29." + a,
		"eyJ" + a + ".eyJ" + a + "." + a, "-----BEGIN PRIVATE KEY-----", "BeaRer " + a,
	} {
		if !toolspec.SecretValue(secret) {
			t.Errorf("%q is none", secret)
		}
		escaped := fmt.Sprintf(`\u%04x`, secret[0]) + secret[1:]
		for _, text := range []string{`{"x":"` + secret + `"}`, `{"` + secret + `":1}`, `["` + escaped + `"]`} {
			if !toolspec.MayHoldSecret([]byte(text)) {
				t.Errorf("%s passes", text)
			}
		}
	}
	if toolspec.MayHoldSecret([]byte(`{"path":"notes/a.txt","limit":1}`)) {
		t.Error("a plain document does not")
	}
}

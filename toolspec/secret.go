package toolspec

import (
	"regexp"
	"strings"
)

// FoldName takes case and separators off a name: apiKey, API_KEY and api-key
// are one.
func FoldName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
}

// SecretName reports whether a field of this name would carry a credential,
// whatever its case and separators. Only whole names count: "secretary" and
// "tokenCount" are none.
func SecretName(name string) bool {
	switch FoldName(name) {
	case "accesstoken", "refreshtoken", "idtoken", "authtoken", "bearertoken", "sessiontoken", "token", "bearer",
		"apikey", "xapikey", "apisecret", "secretkey", "privatekey", "signingkey", "accesskey", "secretaccesskey",
		"password", "passwd", "passphrase", "secret", "secrets", "clientsecret", "credential", "credentials",
		"authorization", "authorizationheader":
		return true
	}
	return false
}

// secretValue matches the published shapes of credentials, nothing vaguer:
// a false hit refuses somebody's call.
var secretValue = regexp.MustCompile(strings.Join([]string{
	`\bsk-[A-Za-z0-9_-]{20,}`,                                            // OpenAI, Anthropic and kin
	`\b(?:sk|rk|pk)_live_[A-Za-z0-9]{16,}`,                               // Stripe
	`\bgh[pousr]_[A-Za-z0-9]{36,}`,                                       // GitHub
	`\bgithub_pat_[A-Za-z0-9_]{22,}`,                                     // GitHub, fine-grained
	`\bglpat-[A-Za-z0-9_-]{20,}`,                                         // GitLab
	`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`,                                   // Slack
	`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,                                      // AWS access key id
	`\bAIza[A-Za-z0-9_-]{35}`,                                            // Google API key
	`\bya29\.[A-Za-z0-9_-]{20,}`,                                         // Google OAuth
	`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`, // JSON Web Token
	`-----BEGIN (?:[A-Z ]+ )?PRIVATE KEY-----`,
	`(?i)\bbearer [A-Za-z0-9._~+/-]{20,}`,
}, "|"))

// SecretValue reports whether s holds something of the published shape of a
// credential.
func SecretValue(s string) bool { return secretValue.MatchString(s) }

package toolspec

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// FoldName removes the case and the separators of a name: apiKey, API_KEY and api-key
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

// secretShape is the published shape of a credential. The lower-case form of every text
// of this shape contains the hint. Most texts contain no hint, and a search for the hint
// takes a hundredth of the time of the pattern, so it comes first.
type secretShape struct {
	hint    string
	pattern *regexp.Regexp
}

// secretShapes are only published shapes, because a text that fits a vague pattern by
// chance would make Pawl refuse a call.
var secretShapes = []secretShape{
	{"sk-", regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{20,}`)},                                             // OpenAI, Anthropic and kin
	{"k_live_", regexp.MustCompile(`\b(?:sk|rk|pk)_live_[A-Za-z0-9]{16,}`)},                            // Stripe
	{"ghp_", regexp.MustCompile(`\bghp_[A-Za-z0-9]{36,}`)},                                             // GitHub, this and the next four
	{"gho_", regexp.MustCompile(`\bgho_[A-Za-z0-9]{36,}`)},                                             //
	{"ghu_", regexp.MustCompile(`\bghu_[A-Za-z0-9]{36,}`)},                                             //
	{"ghs_", regexp.MustCompile(`\bghs_[A-Za-z0-9]{36,}`)},                                             //
	{"ghr_", regexp.MustCompile(`\bghr_[A-Za-z0-9]{36,}`)},                                             //
	{"github_pat_", regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{22,}`)},                              // GitHub, fine-grained
	{"glpat-", regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{20,}`)},                                       // GitLab
	{"xox", regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`)},                                    // Slack
	{"akia", regexp.MustCompile(`\bAKIA[A-Z0-9]{16}\b`)},                                               // AWS access key id
	{"asia", regexp.MustCompile(`\bASIA[A-Z0-9]{16}\b`)},                                               // AWS, for a session
	{"aiza", regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{35}`)},                                            // Google API key
	{"ya29.", regexp.MustCompile(`\bya29\.[A-Za-z0-9_-]{20,}`)},                                        // Google OAuth
	{".eyj", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)}, // JSON Web Token
	{"private key-----", regexp.MustCompile(`-----BEGIN (?:[A-Z ]+ )?PRIVATE KEY-----`)},
	{"bearer ", regexp.MustCompile(`(?i)\bbearer [A-Za-z0-9._~+/-]{20,}`)},
}

// SecretValue reports whether s holds something of the published shape of a
// credential.
func SecretValue(s string) bool {
	lower := strings.ToLower(s)
	for _, shape := range secretShapes {
		if strings.Contains(lower, shape.hint) && shape.pattern.MatchString(s) {
			return true
		}
	}
	return false
}

// MayHoldSecret is a quick look at JSON text: false means that no string in it
// has the shape of a credential. True means that each has to be looked at.
func MayHoldSecret(raw []byte) bool {
	if bytes.Contains(raw, []byte(`\u`)) { // an escape may hide any letter
		return true
	}
	// Most texts lack the marks that most hints have, and one look for a mark is
	// cheaper than one for each hint.
	absent := ""
	for _, mark := range []string{"-", "_", ".", " "} {
		if !bytes.Contains(raw, []byte(mark)) {
			absent += mark
		}
	}
	lower := bytes.ToLower(raw)
	for _, shape := range secretShapes {
		if !strings.ContainsAny(shape.hint, absent) && bytes.Contains(lower, []byte(shape.hint)) {
			return true
		}
	}
	return false
}

// SecretJSON reports whether a name or a text anywhere in a JSON value has the
// shape of a credential, or the value is no JSON.
func SecretJSON(raw json.RawMessage) bool {
	var v any
	return json.Unmarshal(raw, &v) != nil || secretIn(v)
}

func secretIn(v any) bool {
	switch v := v.(type) {
	case string:
		return SecretValue(v)
	case []any:
		return slices.ContainsFunc(v, secretIn)
	case map[string]any:
		for name, child := range v {
			if SecretName(name) || SecretValue(name) || secretIn(child) {
				return true
			}
		}
	}
	return false
}

package worker

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/mcp"
)

func TestSecretsOfAWorker(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef0123456789ABCDEF")
	c := Config{
		DatabaseURL: "postgres://pawl:a-long-password-1@db:5432/pawl", ConnectionKey: []byte("the-connection-key"), OpenFGA: OpenFGA{Token: "the-openfga-token"},
		Codec: Codec{Keys: []byte("k " + base64.StdEncoding.EncodeToString(key))},
	}
	live, err := secrets(c, added([]Option{Secret("mine", []byte("my-own-token"))}))
	if err != nil || live.Len() != 5 {
		t.Fatalf("%d secrets are known: %v", live.Len(), err)
	}
	for _, text := range []string{"a-long-password-1", "the-connection-key", "the-openfga-token", string(key), string(c.Codec.Keys), "my-own-token"} {
		if clean := live.Redact("with " + text); !strings.Contains(clean, fingerprint.Redacted) {
			t.Errorf("it says %s", clean)
		}
	}
	// The worker searches neither for a password that is a word nor for an empty password.
	live, err = secrets(Config{DatabaseURL: "postgres://postgres:postgres@localhost/pawl", ConnectionKey: []byte(strings.Repeat("0", 40))}, additions{})
	if err != nil || live.Len() != 0 {
		t.Errorf("%d secrets are known: %v", live.Len(), err)
	}
	// A part of the configuration that cannot be read does not hide the secrets of the other parts.
	var broken additions
	Secret("mine", []byte("my-own-token"))(&broken)
	Secret("plain", []byte("short"))(&broken)
	live, err = secrets(Config{OpenFGA: OpenFGA{Token: "the-openfga-token"}, Codec: Codec{Keys: []byte("no key ring")}}, broken)
	if clean := live.Redact("my-own-token the-openfga-token"); err == nil || strings.Contains(clean, "token") {
		t.Errorf("with an error, it says %s: %v", clean, err)
	}
	// A secret of the user that is too plain to search for is an error, which does not show the secret.
	for _, plain := range []string{"", "short", strings.Repeat("ab", 20)} {
		var a additions
		Secret("mine", []byte(plain))(&a)
		if _, err := secrets(Config{}, a); !errors.Is(err, fingerprint.ErrPlain) || !strings.Contains(err.Error(), "worker.Secret mine") || plain == strings.Repeat("ab", 20) && strings.Contains(err.Error(), plain) {
			t.Errorf("%q: %v", plain, err)
		}
	}
}

// TestSecretsOfMCPServers: the worker knows the credentials of stdio servers by the names of their variables.
// It does not know the other values, because results may have them.
func TestSecretsOfMCPServers(t *testing.T) {
	t.Setenv("MY_API_KEY", "inherited-credential-1")
	servers := []mcp.Server{{
		ID: "git", Inherit: []string{"MY_API_KEY", "NOT_SET_TOKEN"},
		Env: map[string]string{
			"GITHUB_PERSONAL_ACCESS_TOKEN": "configured-credential-2", "token": "configured-credential-3", "TOKEN_FILE": "/run/secrets/token-of-git",
			"HOST": "git.example.com:8443", "PASSWORD": "postgres",
		},
	}, {ID: "plain"}}
	live, err := secrets(Config{}, additions{mcpServers: servers})
	if err != nil || live.Len() != 3 {
		t.Fatalf("%d secrets are known: %v", live.Len(), err)
	}
	for _, text := range []string{"inherited-credential-1", "configured-credential-2", "configured-credential-3"} {
		if clean := live.Redact("with " + text); !strings.Contains(clean, fingerprint.Redacted) {
			t.Errorf("it says %s", clean)
		}
	}
}

func TestLoadCodec(t *testing.T) {
	key := "k " + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789ABCDEF"))
	for _, tc := range []struct {
		name  string
		set   map[string]string
		fault string
	}{
		{"none", nil, ""},
		{"keys", map[string]string{"PAWL_CODEC_KEYS": key}, ""},
		{"keys, and nothing plain", map[string]string{"PAWL_CODEC_KEYS": key, "PAWL_CODEC_PLAIN": "refuse"}, ""},
		{"both", map[string]string{"PAWL_CODEC_KEYS": key, "PAWL_CODEC_KEYS_FILE": "x"}, "unset one of them"},
		{"no file", map[string]string{"PAWL_CODEC_KEYS_FILE": "/nowhere/keys"}, "PAWL_CODEC_KEYS_FILE"},
		{"no key", map[string]string{"PAWL_CODEC_KEYS": "k " + key[2:20]}, "not 32 bytes"},
		{"nothing could be read", map[string]string{"PAWL_CODEC_PLAIN": "refuse"}, "needs keys"},
		{"a word", map[string]string{"PAWL_CODEC_PLAIN": "no"}, "must be read or refuse"},
		{"too often", map[string]string{"PAWL_VERIFY_EVERY": "1s"}, "PAWL_VERIFY_EVERY"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			setEnvironment(t, tc.set)
			c, err := LoadConfig()
			if tc.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fault) || strings.Contains(err.Error(), key[2:20]) {
					t.Errorf("got %v, want %q", err, tc.fault)
				}
				return
			}
			if err != nil || c.Temporal.DataConverter == nil || c.Temporal.FailureConverter == nil {
				t.Fatalf("got %+v, %v", c.Temporal, err)
			}
			p, err := c.Temporal.DataConverter.ToPayload("text")
			if err != nil || (string(p.GetData()) == `"text"`) != (tc.set == nil) {
				t.Errorf("the payload is %v, %v", p, err)
			}
			c.DatabaseURL = "postgres://localhost/pawl"
			if again, err := c.complete(); err != nil || again.Temporal.DataConverter != c.Temporal.DataConverter {
				t.Errorf("it is made twice: %v", err)
			}
		})
	}
}

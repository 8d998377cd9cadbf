package kms_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// vaultToken is what the fake knows its clients by.
const vaultToken = "hvs.not-really-a-token-1234"

// transit is the transit engine of a HashiCorp Vault, with keys that it makes when they are first asked for.
type transit struct {
	*httptest.Server
	mu    sync.Mutex
	keys  map[string]cipher.AEAD
	asked int
	// says is the error that it answers with, if any.
	says string
	// env is how a program finds it.
	env map[string]string
}

func newTransit(t *testing.T) *transit {
	t.Helper()
	v := &transit{keys: map[string]cipher.AEAD{}}
	v.Server = httptest.NewUnstartedServer(v)
	v.Config.ErrorLog = log.New(io.Discard, "", 0) // clients that do not trust it are part of the test
	v.StartTLS()
	t.Cleanup(v.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	v.env = map[string]string{"VAULT_ADDR": v.URL, "VAULT_CACERT": ca, "VAULT_TOKEN": vaultToken, "VAULT_MAX_RETRIES": "0"}
	return v
}

// key names a key of it.
func (v *transit) key(name string) string {
	return strings.Replace(v.URL, "https://", "hcvault://", 1) + "/transit/keys/" + name
}

func (v *transit) answers(problem string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.says = problem
}

func (v *transit) times() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.asked
}

// ServeHTTP answers as https://developer.hashicorp.com/vault/api-docs/secret/transit says.
func (v *transit) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked++
	refuse := func(status int, problem string) {
		w.WriteHeader(status)
		answer(w, map[string][]string{"errors": {problem}})
	}
	does, name, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/transit/"), "/")
	var in struct {
		Plaintext, Ciphertext string
		Associated            []byte `json:"associated_data"`
	}
	switch {
	case r.Header.Get("X-Vault-Token") != vaultToken:
		refuse(http.StatusForbidden, "permission denied")
		return
	case v.says != "":
		refuse(http.StatusBadRequest, v.says)
		return
	case !found || r.Method != http.MethodPut && r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&in) != nil:
		refuse(http.StatusNotFound, "unsupported path")
		return
	}
	aead := v.keys[name]
	if aead == nil {
		key := make([]byte, 32)
		_, _ = rand.Read(key)
		block, _ := aes.NewCipher(key)
		aead, _ = cipher.NewGCMWithRandomNonce(block)
		v.keys[name] = aead
	}
	out := map[string]string{}
	switch does {
	case "encrypt":
		plain, _ := base64.StdEncoding.DecodeString(in.Plaintext)
		out["ciphertext"] = "vault:v1:" + base64.StdEncoding.EncodeToString(aead.Seal(nil, nil, plain, in.Associated))
	case "decrypt":
		sealed, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(in.Ciphertext, "vault:v1:"))
		plain, err := aead.Open(nil, nil, sealed, in.Associated)
		if err != nil {
			refuse(http.StatusBadRequest, "cipher: message authentication failed")
			return
		}
		out["plaintext"] = base64.StdEncoding.EncodeToString(plain)
	}
	answer(w, map[string]map[string]string{"data": out})
}

func answer(w io.Writer, body any) {
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(err)
	}
}

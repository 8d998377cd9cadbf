package kms_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

const awsKey = "aws-kms://arn:aws:kms:eu-central-1:123456789012:key/11111111-2222-3333-4444-555555555555"

// newAWS is the service of AWS as far as Encrypt and Decrypt go, for this process.
func newAWS(t *testing.T) {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			KeyId                     string //nolint:staticcheck // as AWS spells it
			Plaintext, CiphertextBlob []byte
			EncryptionContext         map[string]string
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		err := json.NewDecoder(r.Body).Decode(&in)
		bound := []byte(in.EncryptionContext["associatedData"])
		out := map[string]any{"KeyId": in.KeyId}
		switch does := r.Header.Get("X-Amz-Target"); {
		case err != nil || "aws-kms://"+in.KeyId != awsKey || !strings.Contains(r.Header.Get("Authorization"), "Credential=AKIDTEST/"):
			err = os.ErrPermission
		case does == "TrentService.Encrypt" && len(in.Plaintext) <= 4096: // the bound of AWS
			out["CiphertextBlob"] = aead.Seal(nil, nil, in.Plaintext, bound)
		case does == "TrentService.Decrypt":
			out["Plaintext"], err = aead.Open(nil, nil, in.CiphertextBlob, bound)
		default:
			err = os.ErrInvalid
		}
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			out = map[string]any{"__type": "InvalidCiphertextException", "message": "canary"}
		}
		answer(w, out)
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_KMS": server.URL, "AWS_ACCESS_KEY_ID": "AKIDTEST", "AWS_SECRET_ACCESS_KEY": "not-really-a-key", "AWS_SESSION_TOKEN": "",
		"AWS_PROFILE": "", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(name, value)
	}
}

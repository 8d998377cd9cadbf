package broker

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// maxSigned bounds the body of a request that is signed, in bytes: it is read
// before it is sent.
const maxSigned = 10 << 20

// Signer signs requests with a credential.
type Signer interface {
	// Name is the name by which providers refer to the signer.
	Name() string
	// Parts returns the names of the parts of its credentials.
	Parts() []string
	// Sign adds the signature to a request. It must neither keep the parts nor put
	// them into its error, and may set headers and parameters of the query only.
	Sign(req *http.Request, body []byte, part func(name string) []byte, now time.Time) error
}

// Signers are the signers of a worker, by name.
type Signers map[string]Signer

// NewSigners returns the built-in signers and the given ones. Two signers with the same name are an
// error.
func NewSigners(more ...Signer) (Signers, error) {
	all := Signers{}
	for _, s := range append([]Signer{HMAC{}}, more...) {
		if _, taken := all[s.Name()]; taken {
			return nil, fmt.Errorf("there are two signers %q", s.Name())
		}
		all[s.Name()] = s
	}
	return all, nil
}

// HMAC signs "method NUL path?query NUL timestamp NUL hex SHA-256 of the body" with
// HMAC-SHA256 and says so in the headers X-Key-Id, X-Timestamp (seconds) and
// X-Signature (hex).
type HMAC struct{}

// Name is hmac-sha256.
func (HMAC) Name() string { return "hmac-sha256" }

// Parts are the id of the key and the key.
func (HMAC) Parts() []string { return []string{"key_id", "secret"} }

// Sign adds the three headers.
func (HMAC) Sign(req *http.Request, body []byte, part func(string) []byte, now time.Time) error {
	sum := sha256.Sum256(body)
	at := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, part("secret"))
	fmt.Fprintf(mac, "%s\x00%s\x00%s\x00%x", req.Method, req.URL.RequestURI(), at, sum)
	req.Header.Set("X-Key-Id", string(part("key_id")))
	req.Header.Set("X-Timestamp", at)
	req.Header.Set("X-Signature", hex.EncodeToString(mac.Sum(nil)))
	return nil
}

package worker

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/internal/oidc"
)

// maxOIDCFile bounds the size of the file of issuers, in bytes.
const maxOIDCFile = 1 << 20

// OIDCIssuer is a provider of OpenID Connect whose ID tokens count as proofs of approvers. All
// workers of a task queue need the same issuers.
type OIDCIssuer struct {
	// Name is the short name of the issuer in identities, in the record and in the log.
	Name string `json:"name"`
	// URL is the identifier of the issuer, exactly as its tokens contain it: PAWL_OIDC_ISSUER. It
	// has the scheme https, or http for an address of this machine.
	URL string `json:"issuer"`
	// ClientIDs are the audiences that its tokens may have: PAWL_OIDC_CLIENT_ID.
	ClientIDs []string `json:"clientIds"`
	// Claim is the claim that names the person: PAWL_OIDC_CLAIM. Empty means email. An email
	// address counts only if the issuer has verified it.
	Claim string `json:"claim,omitempty"`
	// As is the prefix of the identity, before the value of the claim: PAWL_OIDC_AS. Empty means
	// oidc:NAME, with the name of the issuer. No approver who signs with a key can have such an
	// identity.
	As string `json:"as,omitempty"`
	// Tenants are the tenants in which its tokens count, or "*" for all: PAWL_OIDC_TENANTS.
	Tenants []string `json:"tenants"`
	// Require has the claims that a token must have, each with exactly this text.
	Require map[string]string `json:"require,omitempty"`
}

// loadOIDC reads the file that PAWL_OIDC_FILE names, or the variables of one issuer.
func loadOIDC() ([]OIDCIssuer, error) {
	file, url := os.Getenv("PAWL_OIDC_FILE"), os.Getenv("PAWL_OIDC_ISSUER")
	one := OIDCIssuer{
		Name: cmp.Or(os.Getenv("PAWL_OIDC_NAME"), "sso"), URL: url, ClientIDs: words(os.Getenv("PAWL_OIDC_CLIENT_ID")),
		Claim: os.Getenv("PAWL_OIDC_CLAIM"), As: os.Getenv("PAWL_OIDC_AS"), Tenants: words(os.Getenv("PAWL_OIDC_TENANTS")),
	}
	set := len(one.ClientIDs)+len(one.Tenants) > 0 || one.Claim+one.As+os.Getenv("PAWL_OIDC_NAME") != ""
	switch {
	case file != "" && (url != "" || set):
		return nil, errors.New("config: PAWL_OIDC_FILE names the issuers; leave out the other PAWL_OIDC_ variables")
	case file != "":
		return readOIDC(file)
	case url != "":
		return []OIDCIssuer{one}, nil
	case set:
		return nil, errors.New("config: PAWL_OIDC_ISSUER is missing: which issuer do the other PAWL_OIDC_ variables mean?")
	}
	return nil, nil
}

func readOIDC(file string) ([]OIDCIssuer, error) {
	text, err := readFile(file, maxOIDCFile)
	if err != nil {
		return nil, fmt.Errorf("config: PAWL_OIDC_FILE: %w", err)
	}
	if len(text) > maxOIDCFile {
		return nil, fmt.Errorf("config: PAWL_OIDC_FILE: %s cannot be read, or is larger than %d bytes", file, maxOIDCFile)
	}
	var document struct {
		Issuers []OIDCIssuer `json:"issuers"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil {
		return nil, fmt.Errorf("config: PAWL_OIDC_FILE: %s: %w", file, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("config: PAWL_OIDC_FILE: %s holds more than one document", file)
	}
	return document.Issuers, nil
}

// words returns the parts of a list that is separated by commas.
func words(list string) (parts []string) {
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// idTokens returns the verifier of the ID tokens of the configured issuers. It returns nil if no
// issuer is configured: then no ID token counts.
func idTokens(o *opened, c Config, log *slog.Logger) (approval.IDTokens, error) {
	if len(c.OIDC) == 0 {
		return nil, nil //nolint:nilnil // without issuers there is no verifier
	}
	issuers := make([]oidc.Issuer, len(c.OIDC))
	for n, i := range c.OIDC {
		issuers[n] = oidc.Issuer(i)
	}
	verifier, err := oidc.New(issuers...)
	if err != nil {
		return nil, fmt.Errorf("config: PAWL_OIDC_*: %w", err)
	}
	o.add(verifier.Close)
	for _, i := range verifier.Issuers() {
		log.Info("ID tokens count as proofs of approvers", "issuer", i.Name, "tenants", i.Tenants, "as", i.As)
	}
	return verifier, nil
}

package kms

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/tink-crypto/tink-go/v2/core/registry"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/pawl-run/pawl/broker"
)

// onlyEnv names the one key that may be used.
const onlyEnv = "PAWL_KMS_KEY"

// opener makes the client of a service for a key. Its errors are shown, so they must have no
// secrets.
type opener func(ctx context.Context, key string) (registry.KMSClient, error)

// Wrapper encrypts and decrypts with key management services. It keeps no connection, because it is
// only used when a program starts and when a ring changes.
type Wrapper struct {
	// only is the one key that may be used; "" allows every key that the services let
	// this program use.
	only string
	// openers are the services by the schemes of their keys, such as aws-kms.
	openers map[string]opener
}

var _ broker.KeyPinner = (*Wrapper)(nil)

// FromEnv returns a wrapper for the services that Pawl knows. If PAWL_KMS_KEY is set, the wrapper
// uses only the key that it names. Set it if others can change the file of the ring: they could
// replace the ring by a ring of their own, wrapped by a key of their own. The clients find their
// credentials as the programs of the services do: in AWS_* variables and profiles, in Google's
// application default credentials, in VAULT_ADDR and VAULT_TOKEN.
func FromEnv() *Wrapper {
	return &Wrapper{os.Getenv(onlyEnv), map[string]opener{awsScheme: openAWS, gcpScheme: openGCP, vaultScheme: openVault}}
}

// Only is the one key that may be used; "" if there is none.
func (w *Wrapper) Only() string { return w.only }

// Wrap encrypts with a key.
func (w *Wrapper) Wrap(ctx context.Context, key string, plain, associated []byte) ([]byte, error) {
	return w.ask(ctx, key, plain, associated, tink.AEAD.Encrypt, tink.AEADWithContext.EncryptWithContext)
}

// Unwrap decrypts with a key.
func (w *Wrapper) Unwrap(ctx context.Context, key string, wrapped, associated []byte) ([]byte, error) {
	return w.ask(ctx, key, wrapped, associated, tink.AEAD.Decrypt, tink.AEADWithContext.DecryptWithContext)
}

func (w *Wrapper) ask(ctx context.Context, key string, in, associated []byte,
	plainly func(tink.AEAD, []byte, []byte) ([]byte, error), bounded func(tink.AEADWithContext, context.Context, []byte, []byte) ([]byte, error),
) ([]byte, error) {
	if w.only != "" && key != w.only {
		return nil, fmt.Errorf("%s names another key, %s", onlyEnv, w.only)
	}
	scheme, _, _ := strings.Cut(key, "://")
	open := w.openers[scheme]
	if open == nil {
		known := slices.Sorted(maps.Keys(w.openers))
		return nil, fmt.Errorf("no service is known by the scheme %s: there are %s", scheme, strings.Join(known, ", "))
	}
	client, err := open(ctx, key)
	if err != nil {
		return nil, err
	}
	if closer, ok := client.(interface{ Close() error }); ok {
		defer func() { _ = closer.Close() }()
	}
	aead, err := client.GetAEAD(key)
	if err != nil {
		return nil, errors.New("that is no name of a key there")
	}
	var out []byte
	if able, ok := aead.(tink.AEADWithContext); ok {
		out, err = bounded(able, ctx, in, associated)
	} else {
		out, err = plainly(aead, in, associated)
	}
	if err != nil {
		return nil, reason(ctx, err)
	}
	return out, nil
}

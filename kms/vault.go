package kms

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	vault "github.com/hashicorp/vault/api"
	"github.com/tink-crypto/tink-go-hcvault/v2/integration/hcvault"
	"github.com/tink-crypto/tink-go/v2/core/registry"
)

const (
	// vaultScheme is of keys such as hcvault://vault.example.com:8200/transit/keys/NAME.
	vaultScheme = "hcvault"
	// vaultTime bounds a request with all its tries, also if ctx has a later deadline or none.
	vaultTime = 5 * time.Second
)

// openVault makes a client of the server of VAULT_ADDR, or of the agent of VAULT_AGENT_ADDR. It
// refuses a key on another server: a person who can write the file of a ring could otherwise have
// the token sent to a server of their own.
func openVault(ctx context.Context, key string) (registry.KMSClient, error) {
	config := vault.DefaultConfig()
	if config.Error != nil {
		return nil, errors.New("the VAULT_* variables cannot be read")
	}
	named, err := url.Parse(key)
	if err != nil || named.Host == "" {
		return nil, errors.New("a key of Vault is named hcvault://HOST/transit/keys/NAME")
	}
	config.Timeout = vaultTime
	if end, ok := ctx.Deadline(); ok {
		config.Timeout = min(vaultTime, time.Until(end))
	}
	client, err := vault.NewClient(config)
	if err != nil {
		return nil, errors.New("the VAULT_* variables cannot be read")
	}
	server, err := url.Parse(client.Address())
	if err != nil || server.Host != named.Host {
		return nil, fmt.Errorf("VAULT_ADDR, or VAULT_AGENT_ADDR, names another server than %s", named.Host)
	}
	if client.Token() == "" {
		return nil, errors.New("VAULT_TOKEN is missing")
	}
	// The server is checked above, so the prefix needs no more than its name.
	return hcvault.NewClientWithAEADOptions(vaultScheme+"://"+named.Host+"/", client.Logical())
}

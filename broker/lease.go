package broker

import (
	"context"
	"net/http"
	"net/url"
	"sync"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// Lease is the right to use a connection for one attempt of a call. It implements both
// capabilities of a connection: clients and auth.
type Lease struct {
	connectionID string
	provider     Provider
	hosts        hosts
	base         http.RoundTripper
	foreign      http.RoundTripper
	signers      Signers
	// repeatable says that a request that writes may be sent twice.
	repeatable bool
	// renew replaces the token of a version and leases the connection again; nil means that the
	// token cannot be replaced.
	renew func(ctx context.Context, version int) (Credential, int, bool)

	// renewing is held while a goroutine replaces the token.
	renewing sync.Mutex
	// mu is held while the credential is read: Close destroys it.
	mu         sync.RWMutex
	over       bool
	credential Credential
	version    int
	// given are the secrets that the tool has. Close destroys them.
	given []Secret
}

var (
	_ capability.Clients = (*Lease)(nil)
	_ capability.Auth    = (*Lease)(nil)
)

// Provided returns the capabilities of the lease, by their names.
func (l *Lease) Provided() []toolspec.Provided {
	return []toolspec.Provided{capability.ClientsKey.Provide(l), capability.AuthKey.Provide(l)}
}

// For returns a client of the connection.
func (l *Lease) For(connectionID string) (*http.Client, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.check(connectionID); err != nil {
		return nil, err
	}
	return l.client(), nil
}

// BaseURL returns the scheme and host of the connection.
func (l *Lease) BaseURL(connectionID, host string) (*url.URL, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.check(connectionID); err != nil {
		return nil, err
	}
	return l.hosts.baseURL(host)
}

// check returns an error if the lease is for another connection or has ended.
func (l *Lease) check(connectionID string) error {
	switch {
	case connectionID != l.connectionID || connectionID == "":
		return capability.ErrNoConnection
	case l.over:
		return capability.ErrLeaseOver
	}
	return nil
}

// use adds the credential to a request and returns the version of the credential. It fails if
// the lease has ended.
func (l *Lease) use(req *http.Request) (version int, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.over {
		return 0, capability.ErrLeaseOver
	}
	return l.version, l.attach(req)
}

// renewed replaces the token of version, unless that has happened already. It reports whether
// the lease has another token.
func (l *Lease) renewed(ctx context.Context, version int) bool {
	if l.renew == nil || l.provider.Kind != OAuth {
		return false
	}
	l.renewing.Lock()
	defer l.renewing.Unlock()
	l.mu.RLock()
	over, has := l.over, l.version
	l.mu.RUnlock()
	switch {
	case over:
		return false
	case has != version:
		return true
	}
	credential, next, ok := l.renew(ctx, version)
	if !ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		credential.Destroy()
		return false
	}
	l.credential.Destroy()
	l.credential, l.version = credential, next
	return true
}

// AccessToken returns a copy of the token or key.
func (l *Lease) AccessToken(_ context.Context, connectionID string) (Secret, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(connectionID); err != nil {
		return Secret{}, err
	}
	for _, name := range []string{FieldAccessToken, FieldToken, FieldKey} {
		if value := l.credential.Get(name).Reveal(); len(value) > 0 {
			return l.keep(capability.NewSecret(append([]byte(nil), value...))), nil
		}
	}
	return Secret{}, capability.ErrNoToken
}

// AuthHeaders returns copies of the headers that authenticate a request.
func (l *Lease) AuthHeaders(_ context.Context, connectionID string) (map[string]Secret, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.check(connectionID); err != nil {
		return nil, err
	}
	headers, err := l.headers()
	for _, s := range headers {
		l.keep(s)
	}
	return headers, err
}

func (l *Lease) keep(s Secret) Secret {
	l.given = append(l.given, s)
	return s
}

// Close ends the lease. Its clients fail from now on, and the credential and its copies are
// overwritten. Close may be called more than once.
func (l *Lease) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.credential.Destroy()
	for _, s := range l.given {
		s.Destroy()
	}
	l.given = nil
}

// Outside implements both capabilities for calls without a connection: every method returns
// capability.ErrNoConnection. A worker that has a broker provides it to each tool that declares
// one of the capabilities.
type Outside struct{}

// For returns capability.ErrNoConnection.
func (Outside) For(string) (*http.Client, error) { return nil, capability.ErrNoConnection }

// BaseURL returns capability.ErrNoConnection.
func (Outside) BaseURL(string, string) (*url.URL, error) { return nil, capability.ErrNoConnection }

// AccessToken returns capability.ErrNoConnection.
func (Outside) AccessToken(context.Context, string) (Secret, error) {
	return Secret{}, capability.ErrNoConnection
}

// AuthHeaders returns capability.ErrNoConnection.
func (Outside) AuthHeaders(context.Context, string) (map[string]Secret, error) {
	return nil, capability.ErrNoConnection
}

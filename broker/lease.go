package broker

import (
	"context"
	"net/http"
	"sync"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// Lease is the right to use a connection for one attempt of a call. It is both
// capabilities of it, for the same time.
type Lease struct {
	connectionID string
	provider     Provider
	hosts        hosts
	base         http.RoundTripper
	foreign      http.RoundTripper
	signers      Signers
	// repeatable says that requests with a body may be sent twice.
	repeatable bool
	// renew gets another token than that of a version, and takes the lease anew; nil
	// cannot.
	renew func(ctx context.Context, version int) (Credential, int, bool)

	// renewing is held by who gets another token.
	renewing sync.Mutex
	// mu is held while the credential is read: who ends the lease destroys it.
	mu         sync.RWMutex
	over       bool
	credential Credential
	version    int
	// given are copies that a tool was handed.
	given []Secret
}

var (
	_ capability.Clients = (*Lease)(nil)
	_ capability.Auth    = (*Lease)(nil)
)

// Provided are the capabilities of the lease, by their names.
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

// check reports whether the lease is for the connection, and still on.
func (l *Lease) check(connectionID string) error {
	switch {
	case connectionID != l.connectionID || connectionID == "":
		return capability.ErrNoConnection
	case l.over:
		return capability.ErrLeaseOver
	}
	return nil
}

// use adds the credential to a request, while the lease lasts, and returns its
// version.
func (l *Lease) use(req *http.Request) (version int, err error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.over {
		return 0, capability.ErrLeaseOver
	}
	return l.version, l.attach(req)
}

// renewed gets another token than that of the version, unless there is one by now.
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

// AuthHeaders returns copies of the headers that authenticate.
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

// Close ends the lease: clients fail from now on, and what they and the tool were
// given is overwritten. It may be called more than once.
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

// Outside stands for both capabilities where no call has a connection: a worker
// that has a broker provides it to every tool that declares one of them.
type Outside struct{}

// For is refused.
func (Outside) For(string) (*http.Client, error) { return nil, capability.ErrNoConnection }

// AccessToken is refused.
func (Outside) AccessToken(context.Context, string) (Secret, error) {
	return Secret{}, capability.ErrNoConnection
}

// AuthHeaders is refused.
func (Outside) AuthHeaders(context.Context, string) (map[string]Secret, error) {
	return nil, capability.ErrNoConnection
}

package broker

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"code.dny.dev/ssrf"
	"golang.org/x/sync/singleflight"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// Binding is the place of a sealed credential, which is bound into it.
type Binding struct {
	TenantID, ConnectionID, Provider string
	// Target is a digest of the address that gets the credential and of the way it is sent. A party
	// that can write the database cannot have the credential sent elsewhere.
	Target  string
	Version int
}

// At is the place of a connection's credential.
func At(tenantID, connectionID string, p Provider, hosts []string, version int) Binding {
	target, err := json.Marshal(struct {
		Provider Provider
		Hosts    []string
	}{p, hosts})
	if err != nil {
		panic(err) // a struct of texts
	}
	sum := sha256.Sum256(target)
	return Binding{TenantID: tenantID, ConnectionID: connectionID, Provider: p.ID, Target: hex.EncodeToString(sum[:]), Version: version}
}

// Sealed is a credential as it is kept.
type Sealed struct {
	Binding
	// KeyID is the key that sealed it.
	KeyID int64
	Bytes []byte
	// ExpiresAt is when its access token ends; the zero time for none.
	ExpiresAt time.Time
}

// Sealer seals and opens credentials. A credential that is sealed for one binding does not open for
// another.
type Sealer interface {
	Seal(plain []byte, at Binding) (sealed []byte, keyID int64, err error)
	// Open returns ErrSealed if the value belongs to another binding, was modified, or needs a key
	// that is missing. It does not say which.
	Open(sealed []byte, at Binding) ([]byte, error)
}

// ErrSealed is the error for a sealed credential that cannot be opened here.
var ErrSealed error = sealedError{}

type sealedError struct{}

// Error says what to do.
func (sealedError) Error() string {
	return "the sealed credential does not open: is its key in this worker's key ring"
}

// LogReason returns the text of Error, which is safe for logs.
func (s sealedError) LogReason() string { return s.Error() }

// Request asks for the use of a connection in an attempt of a call.
type Request struct {
	InvocationID string
	// AgentRunID is the run of an agent whose model is asked, in place of a call. InvocationID, Epoch and Round are
	// empty then.
	AgentRunID   string
	TenantID     string
	ConnectionID string
	// Holder has the grant, or one of the roles does that it has by policy; those by
	// relations the store knows.
	Holder string
	Roles  []string
	// Scopes are what the tool needs of the connection.
	Scopes []string
	// Generation is the generation that a person approved; 0 if no approval was needed.
	Generation int
	Epoch      int
	// Round counts the attempts of the call.
	Round int
	// Lasts bounds the lease.
	Lasts time.Duration
	// Repeatable says that the tool may be run again: then a request with a body is
	// sent once more, too, where its token turns out to be dead.
	Repeatable bool
}

// Answer is the answer of the store to a request.
type Answer string

// The answers.
const (
	Leased Answer = "leased"
	// Denied: the connection does not exist, or no grant allows the use.
	Denied Answer = "denied"
	// NeedsReauth: a person must sign in to the connection again.
	NeedsReauth Answer = "needs_reauth"
	// Changed: a person approved another generation of the connection.
	Changed Answer = "changed"
	// Superseded: the call is settled, or another run owns it.
	Superseded Answer = "superseded"
)

// Record is a connection with its sealed credential.
type Record struct {
	Answer     Answer
	Provider   Provider
	Hosts      []string
	Scopes     []string
	Generation int
	Sealed     Sealed
	// Remaining is how long the access token still lasts by the clock of the database,
	// of the Life that it had; they count where Sealed.ExpiresAt is there.
	Remaining, Life time.Duration
}

// Store keeps connections. An error that passes by itself is marked errs.Transient.
type Store interface {
	// LeaseConnection writes down that the attempt uses the connection, and returns
	// it: all in one statement, which looks at grant, status and generation once more.
	LeaseConnection(ctx context.Context, r Request) (Record, error)
	// SealedSecrets returns a page of the sealed secrets of all tenants: at most limit secrets that
	// follow the binding previous, in the order of bindings.
	SealedSecrets(ctx context.Context, previous Binding, limit int) ([]Sealed, error)
	// BeginRefresh lets one worker at a time refresh the token of the version that it
	// has seen, and says why not else.
	BeginRefresh(ctx context.Context, c RefreshClaim) (RefreshAnswer, error)
	// StoreRefreshed puts the new secret in the place of the version before it, or says
	// why not.
	StoreRefreshed(ctx context.Context, r Refreshed) (StoreAnswer, error)
	// FailRefresh ends a claim without a token. No worker refreshes again for a while, or before
	// the next sign-in.
	FailRefresh(ctx context.Context, f FailedRefresh) error
}

// Broker leases connections.
type Broker struct {
	store   Store
	sealer  Sealer
	signers Signers
	base    http.RoundTripper
	foreign http.RoundTripper
	live    *live
	// self names this broker in claims of refreshes, and by in the audit trail of them.
	self      string
	by        string
	observe   func(context.Context) (context.Context, func(error))
	refreshes singleflight.Group
	// under counts what goes on behind the back of those who asked.
	under sync.WaitGroup
}

// Options of a broker.
type Options struct {
	// Signers sign requests of the kind signed; nil has Pawl's own.
	Signers Signers
	// Base sends requests to connections' hosts; nil is a transport of its own.
	Base http.RoundTripper
	// Foreign sends what a connection's host redirects elsewhere; nil is one that
	// reaches public addresses only.
	Foreign http.RoundTripper
	// By is who refreshes, for the audit trail; "" is worker.
	By string
	// Live gets each leased secret, so that redaction can remove it from output. If nil, leased
	// secrets are registered nowhere.
	Live *fingerprint.Set
	// Observe is called when a refresh of a token begins. It gets the context of the caller that asked first, and returns the context of the
	// refresh and a function that is called with the error of the refresh at its end. The returned context must have no deadline, no
	// cancellation and no value of the caller: the caller may be a tool, and its hook of httptrace would see the client's secret. If Observe
	// is nil, nothing is observed.
	Observe func(caller context.Context) (context.Context, func(error))
}

// New returns a broker.
func New(store Store, sealer Sealer, o Options) *Broker {
	if o.Signers == nil {
		o.Signers, _ = NewSigners()
	}
	if o.Base == nil {
		o.Base = newTransport(nil)
	}
	if o.Foreign == nil {
		o.Foreign = newTransport(ssrf.New().Safe)
	}
	if o.Observe == nil {
		o.Observe = func(context.Context) (context.Context, func(error)) { return context.Background(), func(error) {} }
	}
	return &Broker{
		store: store, observe: o.Observe, sealer: sealer, signers: o.Signers, base: o.Base, foreign: o.Foreign, live: newLive(o.Live), self: rand.Text(), by: cmp.Or(o.By, "worker"),
	}
}

// Drain waits until running refreshes have stored their tokens, or until ctx ends. Lease must not
// be called during Drain.
func (b *Broker) Drain(ctx context.Context) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		b.under.Wait()
	}()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// Lease takes the use of a connection for one attempt. If the answer is not Leased, there is no
// lease, and no credential was opened. The caller closes the lease at the end of the attempt.
//
// A token that is about to expire is refreshed first. If an expired token cannot be refreshed now,
// the error is marked errs.Transient.
func (b *Broker) Lease(ctx context.Context, r Request) (*Lease, Answer, error) {
	if r.Holder == "" || r.ConnectionID == "" || r.TenantID == "" {
		return nil, Denied, nil
	}
	record, credential, answer, err := b.take(ctx, r)
	if err != nil || answer != Leased {
		return nil, answer, err
	}
	l := b.newLease(record, credential)
	l.version, l.repeatable = record.Sealed.Version, r.Repeatable
	l.renew = func(ctx context.Context, version int) (Credential, int, bool) { return b.renew(ctx, r, version) }
	return l, Leased, nil
}

// newLease returns a lease of the credential of a connection. Its token is not renewed.
func (b *Broker) newLease(r Record, c Credential) *Lease {
	return &Lease{
		connectionID: r.Sealed.ConnectionID, provider: r.Provider, hosts: hosts{r.Hosts, r.Provider.Insecure},
		base: b.base, foreign: b.foreign, signers: b.signers, credential: c,
	}
}

// open opens what is to be used, and recognises it from then on.
func (b *Broker) open(s Sealed) (Credential, error) {
	c, err := b.unseal(s)
	if err == nil {
		b.live.know(s.Binding, c)
	}
	return c, err
}

// unseal opens what is sealed. A key that is not there may be on the way to this
// worker.
func (b *Broker) unseal(s Sealed) (Credential, error) {
	plain, err := b.sealer.Open(s.Bytes, s.Binding)
	if err != nil {
		return Credential{}, errs.Transient(err)
	}
	defer clear(plain)
	return decodeCredential(plain)
}

// Seal seals a credential for its place.
func (b *Broker) Seal(c Credential, at Binding, expiresAt time.Time) (Sealed, error) {
	plain, err := c.encode()
	if err != nil {
		return Sealed{}, errors.New("the credential cannot be written")
	}
	defer clear(plain)
	sealed, keyID, err := b.sealer.Seal(plain, at)
	return Sealed{Binding: at, KeyID: keyID, Bytes: sealed, ExpiresAt: expiresAt}, err
}

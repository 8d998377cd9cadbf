package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// RefreshClaim asks the store for the right to refresh a token.
type RefreshClaim struct {
	// Binding names the version of the secret that the new token replaces.
	Binding Binding
	// Refresher identifies the broker that asks. For the time Lasts no other broker gets the claim.
	Refresher string
	Lasts     time.Duration
	// Forced says that a service refused the token. A token that was refreshed less than Apart
	// ago is not refreshed again for this reason.
	Forced bool
	Apart  time.Duration
}

// RefreshAnswer is the answer of the store to a claim.
type RefreshAnswer string

// The answers.
const (
	// RefreshClaimed: the caller has the claim and refreshes the token.
	RefreshClaimed RefreshAnswer = "claimed"
	// RefreshBusy: another broker has the claim.
	RefreshBusy RefreshAnswer = "busy"
	// RefreshMoved: the secret has another version, or the connection does not exist.
	RefreshMoved RefreshAnswer = "moved"
	// RefreshCooling: a refresh failed less than its cooldown ago.
	RefreshCooling RefreshAnswer = "cooling"
	// RefreshUseless: the service refused a token that was refreshed less than Apart ago.
	RefreshUseless RefreshAnswer = "useless"
	// RefreshReauth: no refresh can succeed: a person must sign in again.
	RefreshReauth RefreshAnswer = "needs_reauth"
)

// Refreshed is a secret with a new token.
type Refreshed struct {
	Sealed Sealed
	// Lasts is the remaining lifetime of the token; 0 means that it does not expire.
	Lasts time.Duration
	// Missing are the scopes of the connection that the server did not grant, for the audit
	// trail.
	Missing []string
	By      string
}

// StoreAnswer is the answer of the store to a refreshed secret.
type StoreAnswer string

// The answers.
const (
	TokenStored StoreAnswer = "stored"
	// TokenSuperseded: the secret has another version. This token was stored before, the secret
	// was replaced, or a person must sign in again.
	TokenSuperseded StoreAnswer = "superseded"
	// TokenUnwanted: the connection was revoked during the refresh.
	TokenUnwanted StoreAnswer = "unwanted"
)

// FailedRefresh describes a claim that ended without a token.
type FailedRefresh struct {
	Binding   Binding
	Refresher string
	// Lost says that no retry can succeed: a person must sign in again.
	Lost bool
	// Code names the cause, for the audit trail.
	Code string
	// After is the pause that the server asks for. First is the pause after the first failure, which doubles with each further
	// failure, and Most is the longest such pause. The next try waits for the longer of both pauses.
	After, First, Most time.Duration
}

const (
	// A token is refreshed in the background when margin of its lifetime is left, and before
	// use when urgent is left. For a token with a short lifetime the limits are a fifth and a
	// tenth of it.
	margin = time.Minute
	urgent = 10 * time.Second
	// claimLasts is the time after which another worker may take over a refresh: the time of the request and of storing
	// its token. Before that, the server may have replaced the refresh token that the database still has. A server that
	// gets a replaced one may revoke all tokens of the sign-in.
	claimLasts = tokenTime + storeLasts
	// refreshLasts bounds a refresh, including the wait for the refresh of another worker.
	refreshLasts = claimLasts + 2*tokenTime
	// storeLasts bounds the retries to store a new token. If it is not stored, a rotated refresh
	// token is lost.
	storeLasts = time.Minute
	// apart is the minimum time between two forced refreshes of a token.
	apart = 30 * time.Second
	// cooldown is the pause after the first failure. It doubles up to cooldownMost.
	cooldown     = 2 * time.Second
	cooldownMost = 5 * time.Minute
	// pollFirst is the first pause between two polls for the refresh of another worker. It
	// doubles up to pollMost.
	pollFirst = 25 * time.Millisecond
	pollMost  = 400 * time.Millisecond
	// takes is the maximum number of leases that take tries, with a refresh after each.
	takes = 3
)

// ErrNoToken means that the token of a connection has ended, and that there is no new one now. The error is marked errs.Transient.
var ErrNoToken = errors.New("the connection has no valid token now")

// noToken is an ErrNoToken that names the connection.
type noToken struct{ connectionID string }

func (n noToken) Error() string {
	return "the token of connection " + n.connectionID + " has ended, and its authorization server has given no new one yet: the audit trail has the cause"
}

// LogReason returns the text of Error, which is safe for logs.
func (n noToken) LogReason() string { return n.Error() }

// Is makes a noToken an ErrNoToken.
func (n noToken) Is(target error) bool { return target == ErrNoToken }

// need is how urgently a token must be refreshed.
type need int

const (
	fresh need = iota
	// soon: refresh in the background, and use the token now.
	soon
	// now: wait for the refresh. If it fails, use the token, which is still valid.
	now
	// ended: the token is not usable. Wait for the refresh.
	ended
)

// needs returns how urgently the token must be refreshed. The remaining lifetime comes from the
// clock of the database.
func (r Record) needs(c Credential) need {
	switch {
	case r.Provider.Kind != OAuth || r.Provider.OAuth2 == nil:
		return fresh
	case len(c.Get(FieldAccessToken).Reveal()) == 0:
		return ended
	case r.Sealed.ExpiresAt.IsZero():
		return fresh
	case r.Remaining <= 0:
		return ended
	case !r.Provider.OAuth2.renews(c):
		return fresh
	case r.Remaining <= min(urgent, r.Life/10):
		return now
	case r.Remaining <= min(margin, r.Life/5):
		return soon
	}
	return fresh
}

// renews reports whether a new token is available without a sign-in by a person.
func (o OAuth2) renews(c Credential) bool {
	return o.Flow == ClientCredentials || len(c.Get(FieldRefreshToken).Reveal()) > 0
}

// take leases a connection with a valid token. After each refresh it leases the connection
// again, because a grant may have been revoked during the refresh.
func (b *Broker) take(ctx context.Context, r Request) (Record, Credential, Answer, error) {
	for range takes {
		record, err := b.store.LeaseConnection(ctx, r)
		if err != nil || record.Answer != Leased {
			return record, Credential{}, record.Answer, err
		}
		credential, err := b.open(record.Sealed)
		if err != nil {
			return record, Credential{}, "", err
		}
		how := record.needs(credential)
		if how == fresh {
			return record, credential, Leased, nil
		}
		done := b.refresh(ctx, record, false)
		if how == soon {
			return record, credential, Leased, nil
		}
		answer, err := wait(ctx, done)
		switch {
		case err == nil && answer == RefreshMoved:
			credential.Destroy()
		case how == now:
			return record, credential, Leased, nil
		case err == nil && answer == RefreshReauth:
			credential.Destroy()
			return record, Credential{}, NeedsReauth, nil
		default:
			credential.Destroy()
			return record, Credential{}, "", errs.Transient(noToken{r.ConnectionID})
		}
	}
	return Record{}, Credential{}, "", errs.Transient(noToken{r.ConnectionID})
}

// Refresh gets a new token for a record whose token has expired or expires soon. Only one worker
// refreshes, and it stores the token before it is used. RefreshMoved means that the caller must
// read the record again; "" means that the token is valid, or that it is not expired and no refresh
// succeeded. A refresh that runs when ctx ends continues until Drain.
func (b *Broker) Refresh(ctx context.Context, r Record) (RefreshAnswer, error) {
	credential, err := b.open(r.Sealed)
	if err != nil {
		return "", ErrSealed
	}
	defer credential.Destroy()
	how := r.needs(credential)
	if how != now && how != ended {
		return "", nil
	}
	answer, err := wait(ctx, b.refresh(ctx, r, false))
	if how == now && (err != nil || answer != RefreshMoved) {
		return "", nil
	}
	return answer, err
}

// renew replaces the token of version, which a service refused, and leases the connection again.
func (b *Broker) renew(ctx context.Context, r Request, version int) (Credential, int, bool) {
	record, err := b.store.LeaseConnection(ctx, r)
	if err != nil || record.Answer != Leased {
		return Credential{}, 0, false
	}
	if record.Sealed.Version == version {
		if answer, err := wait(ctx, b.refresh(ctx, record, true)); err != nil || answer != RefreshMoved {
			return Credential{}, 0, false
		}
	}
	record, credential, answer, err := b.take(ctx, r)
	if err != nil || answer != Leased {
		return Credential{}, 0, false
	}
	if record.Sealed.Version == version {
		credential.Destroy()
		return Credential{}, 0, false
	}
	return credential, record.Sealed.Version, true
}

// done is the result of a refresh.
type done struct {
	answer RefreshAnswer
	err    error
}

func wait(ctx context.Context, c <-chan done) (RefreshAnswer, error) {
	select {
	case d := <-c:
		return d.answer, d.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// refresh gets a new token for a record. Concurrent callers share one refresh, which continues
// when they stop waiting. If a new token exists, the answer is RefreshMoved. Only Options.Observe
// gets the context of the caller: a tool may have put values into it.
func (b *Broker) refresh(caller context.Context, r Record, forced bool) <-chan done {
	at := r.Sealed.Binding
	key := fmt.Sprintf("%q %q %d %t", at.TenantID, at.ConnectionID, at.Version, forced)
	out := make(chan done, 1)
	b.under.Add(1)
	results := b.refreshes.DoChan(key, func() (any, error) {
		ctx, end := b.observe(caller)
		ctx, cancel := context.WithTimeout(ctx, refreshLasts)
		defer cancel()
		answer, err := b.refreshed(ctx, r, forced)
		end(err)
		return answer, err
	})
	go func() {
		defer b.under.Done()
		f := <-results
		answer, _ := f.Val.(RefreshAnswer)
		out <- done{answer, f.Err}
	}()
	return out
}

// refreshed refreshes the token, or waits for a worker that is refreshing it.
func (b *Broker) refreshed(ctx context.Context, r Record, forced bool) (RefreshAnswer, error) {
	claim := RefreshClaim{Binding: r.Sealed.Binding, Refresher: b.self, Lasts: claimLasts, Forced: forced, Apart: apart}
	for delay := pollFirst; ; delay = min(2*delay, pollMost) {
		answer, err := b.store.BeginRefresh(ctx, claim)
		switch {
		case err != nil:
			return "", err
		case answer == RefreshClaimed:
			return b.redeem(ctx, r)
		case answer != RefreshBusy:
			return answer, nil
		}
		if err := pause(ctx, delay); err != nil {
			return "", err
		}
	}
}

// pause waits for a time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// redeem exchanges the refresh token for a new token, and stores it. RefreshMoved means that the caller must read the record again. A failure is
// recorded: the answer is RefreshCooling, or RefreshReauth if a person must sign in again. The caller must have the claim of the refresh.
func (b *Broker) redeem(ctx context.Context, r Record) (RefreshAnswer, error) {
	at := r.Sealed.Binding
	fail := func(f *fault) (RefreshAnswer, error) {
		answer := RefreshCooling
		if f.lost {
			answer = RefreshReauth
		}
		return answer, b.store.FailRefresh(ctx, FailedRefresh{
			Binding: at, Refresher: b.self, Lost: f.lost, Code: f.code, After: f.after, First: cooldown, Most: cooldownMost,
		})
	}
	credential, err := b.open(r.Sealed)
	if err != nil {
		return fail(&fault{code: "sealed"})
	}
	defer credential.Destroy()
	if !r.Provider.OAuth2.renews(credential) {
		return fail(&fault{code: "no_refresh_token", lost: true})
	}
	next, got, f := b.tokens(r.Provider).renewed(ctx, credential, r.Scopes)
	if f != nil {
		return fail(f)
	}
	defer next.Destroy()
	at.Version++
	b.live.know(at, next)
	sealed, err := b.Seal(next, at, time.Time{})
	if err != nil {
		return fail(&fault{code: "unsealed"})
	}
	answer, err := b.keep(ctx, Refreshed{Sealed: sealed, Lasts: got.lasts, Missing: missing(r.Scopes, got.scopes), By: b.by})
	if err == nil && answer == TokenUnwanted {
		// The revocation of the connection revoked only the old token. Revoking the new token is
		// best effort: no caller is left to get an error. It has its own timeout, because storing
		// may have used up that of ctx.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*tokenTime)
		defer cancel()
		_, _ = b.retire(ctx, r.Provider, next)
	}
	return RefreshMoved, err
}

// keep stores a refreshed secret and retries transient errors until storeLasts: the server may
// already have invalidated the old token, so the new one must not be lost.
func (b *Broker) keep(ctx context.Context, r Refreshed) (StoreAnswer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeLasts)
	defer cancel()
	got := time.Now()
	lasts := r.Lasts
	for delay := pollFirst; ; delay = min(2*delay, time.Second) {
		if lasts > 0 {
			r.Lasts = max(lasts-time.Since(got), time.Millisecond)
		}
		answer, err := b.store.StoreRefreshed(ctx, r)
		if err == nil || !errs.IsTransient(err) {
			return answer, err
		}
		if pause(ctx, delay) != nil {
			return "", err
		}
	}
}

// missing returns the requested scopes that the server did not grant. A server that names no
// scopes has granted all.
func missing(asked, given []string) []string {
	if len(given) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(asked), func(s string) bool { return slices.Contains(given, s) })
}

// secretOf makes a Secret from the text that a library returns.
func secretOf(text string) Secret { return capability.NewSecret([]byte(text)) }

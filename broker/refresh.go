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

// RefreshClaim asks to be the one who refreshes.
type RefreshClaim struct {
	// Binding is of the version that the token is to take the place of.
	Binding Binding
	// Refresher is who asks; Lasts is for how long nobody else begins.
	Refresher string
	Lasts     time.Duration
	// Forced says that a service refused the token. One that was refreshed less than
	// Apart ago is not refreshed again for that.
	Forced bool
	Apart  time.Duration
}

// RefreshAnswer is what the store says of a claim.
type RefreshAnswer string

// The answers.
const (
	// RefreshClaimed: the caller refreshes.
	RefreshClaimed RefreshAnswer = "claimed"
	// RefreshBusy: somebody else does.
	RefreshBusy RefreshAnswer = "busy"
	// RefreshMoved: there is another version by now, or no connection any more.
	RefreshMoved RefreshAnswer = "moved"
	// RefreshCooling: it failed lately.
	RefreshCooling RefreshAnswer = "cooling"
	// RefreshUseless: the token is a new one, and refused all the same.
	RefreshUseless RefreshAnswer = "useless"
	// RefreshReauth: only somebody who signs in anew can mend it.
	RefreshReauth RefreshAnswer = "needs_reauth"
)

// Refreshed is a secret with a new token.
type Refreshed struct {
	Sealed Sealed
	// Lasts is how long the token does from now; 0 for good.
	Lasts time.Duration
	// Missing are scopes of the connection that it was refused, for the audit trail.
	Missing []string
	By      string
}

// StoreAnswer is what the store says of a refreshed secret.
type StoreAnswer string

// The answers.
const (
	TokenStored StoreAnswer = "stored"
	// TokenSuperseded: there is another version: it was stored before, or somebody has
	// replaced it, or has to sign in anew.
	TokenSuperseded StoreAnswer = "superseded"
	// TokenUnwanted: the connection was revoked meanwhile.
	TokenUnwanted StoreAnswer = "unwanted"
)

// FailedRefresh is how a claim ends without a token.
type FailedRefresh struct {
	Binding   Binding
	Refresher string
	// Lost says that no further try can help.
	Lost bool
	// Code names the cause, for the audit trail.
	Code string
	// After is how long nobody tries, at least: the cooldown begins with First and
	// doubles with each failure up to Most.
	After, First, Most time.Duration
}

const (
	// margin and urgent are how long before its end a token is refreshed: behind the
	// back of who uses it, and while it waits. A short life has a fifth and a tenth.
	margin = time.Minute
	urgent = 10 * time.Second
	// claimLasts is how long a refresh may take before another worker takes it for
	// dead: the time of the request, and as much for the store.
	claimLasts = 2 * tokenTime
	// refreshLasts bounds a refresh, with the wait for another worker's.
	refreshLasts = claimLasts + 2*tokenTime
	// storeLasts is how long a token that was got is tried to be stored: without that
	// a rotated one is lost.
	storeLasts = time.Minute
	// apart is between two refreshes that refusals force.
	apart = 30 * time.Second
	// cooldown and cooldownMost are between tries that fail.
	cooldown     = 2 * time.Second
	cooldownMost = 5 * time.Minute
	// pollFirst doubles up to pollMost, between looks at another worker's refresh.
	pollFirst = 25 * time.Millisecond
	pollMost  = 400 * time.Millisecond
	// takes is how often a lease is tried around refreshes.
	takes = 3
)

// errNoToken says that there is none for now.
var errNoToken = errors.New("the connection's token has ended, and there is no new one yet")

// need is how much a token wants to be refreshed.
type need int

const (
	fresh need = iota
	// soon: behind everybody's back.
	soon
	// now: it is waited for; a token that still lasts is used if it fails.
	now
	// ended: without a new one nothing goes.
	ended
)

// needs looks at a token, by the clock of the database.
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

// renews reports whether a token can be got without anybody's consent.
func (o OAuth2) renews(c Credential) bool {
	return o.Flow == ClientCredentials || len(c.Get(FieldRefreshToken).Reveal()) > 0
}

// take leases a connection with a token that lasts. After each refresh the lease is
// taken anew: a grant may have gone meanwhile.
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
		done := b.refresh(record, false)
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
			return record, Credential{}, "", errs.Transient(errNoToken)
		}
	}
	return Record{}, Credential{}, "", errs.Transient(errNoToken)
}

// Refresh gets a new token for a record whose token has ended, or is about to, as a
// lease would: once for all workers, and stored before it is used. RefreshMoved says
// that the record is to be read anew; "" that its token lasts, or that nothing can
// renew one that it still has. What is under way when ctx ends goes on until Drain.
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
	answer, err := wait(ctx, b.refresh(r, false))
	if how == now && (err != nil || answer != RefreshMoved) {
		return "", nil
	}
	return answer, err
}

// renew gets another token than that of the version, which a service refused, and
// takes the lease anew.
func (b *Broker) renew(ctx context.Context, r Request, version int) (Credential, int, bool) {
	record, err := b.store.LeaseConnection(ctx, r)
	if err != nil || record.Answer != Leased {
		return Credential{}, 0, false
	}
	if record.Sealed.Version == version {
		if answer, err := wait(ctx, b.refresh(record, true)); err != nil || answer != RefreshMoved {
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

// done is how a refresh ends.
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

// refresh gets a new token for a record, once for all who ask for that at the same
// time, and goes on when they are gone. It ends with RefreshMoved where there is
// one.
func (b *Broker) refresh(r Record, forced bool) <-chan done {
	at := r.Sealed.Binding
	key := fmt.Sprintf("%q %q %d %t", at.TenantID, at.ConnectionID, at.Version, forced)
	out := make(chan done, 1)
	b.under.Add(1)
	results := b.refreshes.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), refreshLasts)
		defer cancel()
		answer, err := b.refreshed(ctx, r, forced)
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

// refreshed refreshes, or waits for another worker that does.
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
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// redeem gets a token and stores it. Nobody else does meanwhile.
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
	answer, err := b.keep(Refreshed{Sealed: sealed, Lasts: got.lasts, Missing: missing(r.Scopes, got.scopes), By: b.by})
	if err == nil && answer == TokenUnwanted {
		// Who revoked the connection had the old token only. Best effort: nobody is left to
		// be told. It has a time of its own, for storing may have spent that of ctx.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*tokenTime)
		defer cancel()
		_, _ = b.retire(ctx, r.Provider, next)
	}
	return RefreshMoved, err
}

// keep stores what cannot be got a second time: the old token may be dead already.
// Where another version is there, it was stored before, or is not wanted.
func (b *Broker) keep(r Refreshed) (StoreAnswer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), storeLasts)
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

// missing are the scopes that were asked for and not given; a server that names none
// has given all.
func missing(asked, given []string) []string {
	if len(given) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(asked), func(s string) bool { return slices.Contains(given, s) })
}

// secretOf makes a secret of what a library has as text.
func secretOf(text string) Secret { return capability.NewSecret([]byte(text)) }

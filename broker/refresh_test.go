package broker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/broker/oauthtest"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// unsealed is a sealer that seals nothing.
type unsealed struct{}

func (unsealed) Seal(plain []byte, _ Binding) ([]byte, int64, error) {
	return append([]byte(nil), plain...), 1, nil
}

func (unsealed) Open(sealed []byte, _ Binding) ([]byte, error) {
	return append([]byte(nil), sealed...), nil
}

// revoked is a store in which a connection goes while a token for it is on the way, and which takes all the time that there is.
type revoked struct {
	Store
	spent context.CancelFunc
}

func (r revoked) StoreRefreshed(context.Context, Refreshed) (StoreAnswer, error) {
	r.spent()
	return TokenUnwanted, nil
}

// TestUnwantedTokenIsTakenBack: a token that nobody wants any more is taken back, however little of the refresh's time storing it has left.
func TestUnwantedTokenIsTakenBack(t *testing.T) {
	s := oauthtest.New(t)
	access, refresh := s.Token()
	ctx, cancel := context.WithCancel(t.Context())
	b := New(revoked{spent: cancel}, unsealed{}, Options{})
	at := Binding{TenantID: "acme", ConnectionID: "c1", Provider: "test", Version: 1}
	old, err := b.Seal(theClient().With(FieldAccessToken, secretOf(access)).With(FieldRefreshToken, secretOf(refresh)), at, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := b.redeem(ctx, Record{Provider: describe(s), Sealed: old})
	if err != nil || answer != RefreshMoved {
		t.Fatalf("%s, %v", answer, err)
	}
	if len(s.Requests()) != 1 || len(s.Revoked()) != 2 {
		t.Errorf("%d tokens were got, and there were %d requests to take one back", len(s.Requests()), len(s.Revoked()))
	}
}

// away is a store that does not answer.
type away struct{ Store }

func (away) StoreRefreshed(context.Context, Refreshed) (StoreAnswer, error) {
	return "", errs.Transient(errors.New("the store is away"))
}

// TestClaimCoversStoring: a worker stops to store a new token before another worker may send the old refresh token.
func TestClaimCoversStoring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := New(away{}, unsealed{}, Options{}).keep(t.Context(), Refreshed{}); !errs.IsTransient(err) {
			t.Fatal(err)
		}
		storing := time.Since(began)
		if storing < 30*time.Second || tokenTime+storing > claimLasts {
			t.Errorf("storing is given up after %s, and the claim ends after %s", storing, claimLasts)
		}
	})
}

package settle

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/workflows/contract"
)

type store struct {
	outcome contract.Outcome
	err     error
}

func (s store) Settle(context.Context, contract.SettleIn) (contract.SettleOut, error) {
	return contract.SettleOut{Outcome: s.outcome}, s.err
}

// TestSettleForgets: a worker drops what it keeps for a call when the settle has an answer. After an error, the settle is tried
// again, and the values stay.
func TestSettleForgets(t *testing.T) {
	away := errors.New("away")
	for _, tc := range []struct {
		store  store
		forgot []string
	}{
		{store{outcome: contract.Done}, []string{"inv"}},
		{store{outcome: contract.Superseded}, []string{"inv"}},
		{store{err: away}, nil},
	} {
		var forgot []string
		s := &Settler{Store: tc.store, Forget: func(invocationID string) { forgot = append(forgot, invocationID) }}
		got, err := s.Settle(t.Context(), contract.SettleIn{InvocationID: "inv"})
		if got.Outcome != tc.store.outcome || !errors.Is(err, tc.store.err) {
			t.Errorf("%+v: got %+v, %v", tc.store, got, err)
		}
		if !slices.Equal(forgot, tc.forgot) {
			t.Errorf("%+v: forgot %v, want %v", tc.store, forgot, tc.forgot)
		}
	}
}

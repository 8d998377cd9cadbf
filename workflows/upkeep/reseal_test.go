package upkeep_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envtest"
	upkeepflow "github.com/pawl-run/pawl/workflows/upkeep"
)

// safe is a fake: it stores secrets like the database and seals them like a key ring.
type safe struct {
	mu      sync.Mutex
	secrets []broker.Sealed // in the order of their places
	// key is the id of the key that seals. The connections in closed have secrets that do
	// not open.
	key    int64
	closed map[string]bool
	// away is the number of reads that fail before the first one succeeds.
	away int
	// between is called before a write.
	between func(s *safe)
	reads   int
	// run is called at every read with the number of reads so far.
	run func(n int)
}

func newSafe(n int, key int64) *safe {
	s := &safe{key: key, closed: map[string]bool{}}
	for i := range n {
		id := fmt.Sprintf("c%04d", i)
		s.secrets = append(s.secrets, broker.Sealed{Binding: broker.Binding{TenantID: "acme", ConnectionID: id, Version: 1}, KeyID: 1, Bytes: []byte(id)})
	}
	return s
}

func (s *safe) SecretsToReseal(_ context.Context, keyID int64, after broker.Binding, limit int) (found []broker.Sealed, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reads++; s.run != nil {
		s.run(s.reads)
	}
	if s.away > 0 {
		s.away--
		return nil, errs.Transient(errors.New("away"))
	}
	for _, one := range s.secrets {
		if one.KeyID != keyID && one.ConnectionID > after.ConnectionID && len(found) < limit {
			found = append(found, one)
		}
	}
	return found, nil
}

func (s *safe) ResealSecrets(_ context.Context, keyID int64, resealed []upkeep.Resealed) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.between != nil {
		s.between(s)
	}
	for _, r := range resealed {
		for i, one := range s.secrets {
			if one.ConnectionID == r.ConnectionID && one.Version == r.Version && one.KeyID == r.Was {
				s.secrets[i] = r.Sealed
				n++
			}
		}
	}
	return n, nil
}

func (s *safe) Open(sealed []byte, at broker.Binding) ([]byte, error) {
	if s.closed[at.ConnectionID] || string(sealed) != at.ConnectionID {
		return nil, broker.ErrSealed
	}
	return []byte("secret"), nil
}

func (s *safe) Seal(_ []byte, at broker.Binding) ([]byte, int64, error) {
	return []byte(at.ConnectionID), s.key, nil
}

// left returns the number of secrets that another key than key 2 sealed.
func (s *safe) left() (n int) {
	for _, one := range s.secrets {
		if one.KeyID != 2 {
			n++
		}
	}
	return n
}

// reseal runs the workflow for key 2 with the real activity.
func reseal(t *testing.T, s *safe, sealer broker.Sealer, in upkeepflow.ResealIn) (out upkeepflow.ResealOut, again *workflow.ContinueAsNewError, took time.Duration) {
	t.Helper()
	env := envtest.New()
	env.RegisterWorkflowWithOptions(upkeepflow.ResealSecrets, workflow.RegisterOptions{Name: upkeepflow.ResealType})
	upkeep.NewResealer(s, sealer, slog.New(slog.DiscardHandler)).Register(env)
	began := env.Now()
	s.run = func(n int) {
		if in.State == nil && n == 2 && s.between == nil && len(s.secrets) == 250 {
			env.SetContinueAsNewSuggested(true)
		}
	}
	env.ExecuteWorkflow(upkeepflow.ResealType, in)
	took = env.Now().Sub(began)
	err := env.GetWorkflowError()
	if errors.As(err, &again) {
		return out, again, took
	}
	if err == nil {
		err = env.GetWorkflowResult(&out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, nil, took
}

// TestResealSecrets: every secret that opens is sealed with the key at the end, even if
// the database was unavailable or a secret was replaced meanwhile. Without a worker that
// seals with the key, nothing is sealed anew.
func TestResealSecrets(t *testing.T) {
	t.Parallel()
	in := upkeepflow.ResealIn{KeyID: 2}
	t.Run("all", func(t *testing.T) {
		s := newSafe(350, 2)
		s.away = 3
		out, _, _ := reseal(t, s, s, in)
		if want := (upkeepflow.ResealOut{KeyID: 2, Resealed: 350}); !reflect.DeepEqual(out, want) || s.left() != 0 {
			t.Errorf("%+v, %d are left", out, s.left())
		}
	})
	t.Run("replaced meanwhile", func(t *testing.T) {
		s := newSafe(30, 2)
		s.between = func(s *safe) {
			s.between = nil
			// A worker with the old key ring refreshes one secret, and another process seals
			// another secret anew.
			s.secrets[3].Version, s.secrets[3].Bytes = 2, []byte("c0003")
			s.secrets[4].KeyID = 2
		}
		out, _, _ := reseal(t, s, s, in)
		if out.Resealed != 29 || s.left() != 0 || s.secrets[3].Version != 2 {
			t.Errorf("%+v, %d are left, %+v", out, s.left(), s.secrets[3])
		}
	})
	t.Run("closed", func(t *testing.T) {
		s := newSafe(150, 2)
		for i := range 30 {
			s.closed[fmt.Sprintf("c%04d", 5*i)] = true
		}
		out, _, _ := reseal(t, s, s, in)
		if out.Resealed != 120 || out.Unopened != 30 || len(out.UnopenedOf) != 20 || out.UnopenedOf[1].ConnectionID != "c0005" || s.left() != 30 {
			t.Errorf("%+v, %d are left", out, s.left())
		}
	})
	t.Run("another key", func(t *testing.T) {
		s := newSafe(10, 3)
		out, _, took := reseal(t, s, s, in)
		if !out.OtherKey || s.left() != 10 || took < 10*time.Minute || took > 15*time.Minute {
			t.Errorf("%+v after %s, %d are left", out, took, s.left())
		}
	})
	t.Run("no ring", func(t *testing.T) {
		s := newSafe(10, 2)
		out, _, _ := reseal(t, s, nil, in)
		if !out.OtherKey || s.left() != 10 {
			t.Errorf("%+v, %d are left", out, s.left())
		}
	})
}

// TestResealGoesOnAsNew: the workflow continues as new before its history is too long,
// and the next run starts at the place that the previous run reached.
func TestResealGoesOnAsNew(t *testing.T) {
	t.Parallel()
	s := newSafe(250, 2)
	_, again, _ := reseal(t, s, s, upkeepflow.ResealIn{KeyID: 2})
	if again == nil || s.left() != 0 {
		t.Fatalf("no new run; %d are left", s.left())
	}
	var in upkeepflow.ResealIn
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &in); err != nil {
		t.Fatal(err)
	}
	if in.KeyID != 2 || in.State == nil || in.State.Before+in.State.Progress.Resealed != 250 {
		t.Fatalf("it goes on with %+v of %+v", in.State, in)
	}
	out, again, _ := reseal(t, s, s, in)
	if want := (upkeepflow.ResealOut{KeyID: 2, Resealed: 250}); again != nil || !reflect.DeepEqual(out, want) {
		t.Errorf("%+v", out)
	}
}

// TestResealGoesOn: an attempt of the activity starts at the place in the last heartbeat
// of a lost attempt. If the database becomes unavailable, the activity returns its
// progress so far.
func TestResealGoesOn(t *testing.T) {
	t.Parallel()
	run := func(s *safe, beats *contract.ResealProgress) contract.ResealSecretsOut {
		env := envtest.NewForActivity()
		upkeep.NewResealer(s, s, slog.New(slog.DiscardHandler)).Register(env)
		if beats != nil {
			env.SetHeartbeatDetails(beats)
		}
		value, err := env.ExecuteActivity(contract.Reseal.Name(), contract.ResealSecretsIn{KeyID: 2})
		var out contract.ResealSecretsOut
		if err == nil {
			err = value.Get(&out)
		}
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	s := newSafe(150, 2)
	out := run(s, &contract.ResealProgress{After: contract.ResealPlace{TenantID: "acme", ConnectionID: "c0099", Version: 1}, Resealed: 100})
	if !out.Done || out.Resealed != 150 || s.left() != 100 {
		t.Errorf("%+v, %d are left", out, s.left())
	}
	s = newSafe(250, 2)
	s.run = func(n int) {
		if n == 2 {
			s.away = 1
		}
	}
	if out := run(s, nil); out.Done || out.Resealed != 100 || out.After.ConnectionID != "c0099" {
		t.Errorf("%+v", out)
	}
}

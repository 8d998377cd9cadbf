package failpoint_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/point"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

// director answers the hits of a Remote with the function of a test.
type director struct {
	*httptest.Server
	mu   sync.Mutex
	hits []point.Hit
}

func direct(t *testing.T, answer func(point.Hit) point.Order) *director {
	t.Helper()
	d := &director{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var hit point.Hit
		if err := json.NewDecoder(r.Body).Decode(&hit); err != nil {
			t.Error(err)
		}
		d.mu.Lock()
		d.hits = append(d.hits, hit)
		d.mu.Unlock()
		if err := json.NewEncoder(w).Encode(answer(hit)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *director) points() (points []point.Name) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.hits {
		points = append(points, h.At)
	}
	return points
}

// store sends the context of each claim to claimed.
type store struct {
	activities.Records
	claimed chan context.Context
	held    chan struct{}
}

func (s store) Claim(ctx context.Context, _ attempt.ClaimRow) (contract.Outcome, error) {
	s.claimed <- ctx
	if s.held != nil {
		<-s.held
	}
	return contract.Done, ctx.Err()
}

// TestRemote: a Remote asks before and after each step and effect, and names the call and the
// process.
func TestRemote(t *testing.T) {
	t.Parallel()
	d := direct(t, func(point.Hit) point.Order { return point.Order{} })
	remote := failpoint.NewRemote(d.URL)
	s := store{claimed: make(chan context.Context, 1)}
	outcome, err := remote.Records(s).Claim(t.Context(), attempt.ClaimRow{InvocationID: "call"})
	if outcome != contract.Done || err != nil {
		t.Errorf("%q, %v", outcome, err)
	}
	if err := remote.Effect(ledger.Effect{InvocationID: "call"}, func() error { return nil }); err != nil {
		t.Error(err)
	}
	want := []point.Name{point.ClaimBefore, point.ClaimAfter, point.EffectBefore, point.EffectAfter}
	if got := d.points(); !slices.Equal(got, want) {
		t.Errorf("asked at %v, want %v", got, want)
	}
	for _, h := range d.hits {
		if h.Call != "call" || h.PID != os.Getpid() {
			t.Errorf("%+v", h)
		}
	}
}

// TestRemoteLate: a statement with a late order runs although its caller has given up. The caller
// gets a transient error.
func TestRemoteLate(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	d := direct(t, func(h point.Hit) point.Order {
		if h.At == point.ClaimBefore {
			<-held
			return point.Order{Late: true}
		}
		return point.Order{}
	})
	s := store{claimed: make(chan context.Context, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := failpoint.NewRemote(d.URL).Records(s).Claim(ctx, attempt.ClaimRow{InvocationID: "call"}); !errs.IsTransient(err) {
		t.Errorf("the caller gets %v, want a transient error", err)
	}
	select {
	case <-s.claimed:
		t.Error("the statement ran before its order came")
	default:
	}
	close(held)
	if running := <-s.claimed; running.Err() != nil {
		t.Errorf("the statement runs with a context that ended: %v", running.Err())
	}
}

// TestRemoteAnswerLate: a statement whose answer is held up has run, and its caller gives up when
// its context ends.
func TestRemoteAnswerLate(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	defer close(held)
	d := direct(t, func(h point.Hit) point.Order {
		if h.At == point.ClaimAfter {
			<-held
		}
		return point.Order{}
	})
	s := store{claimed: make(chan context.Context, 1)}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := failpoint.NewRemote(d.URL).Records(s).Claim(ctx, attempt.ClaimRow{InvocationID: "call"}); !errs.IsTransient(err) {
		t.Errorf("the caller gets %v, want a transient error", err)
	}
	<-s.claimed
}

// TestRemoteInTime: a step without a late order ends with the context of its caller, so that no
// statement of a slow database outlives its caller.
func TestRemoteInTime(t *testing.T) {
	t.Parallel()
	d := direct(t, func(point.Hit) point.Order { return point.Order{} })
	s := store{claimed: make(chan context.Context, 1), held: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := failpoint.NewRemote(d.URL).Records(s).Claim(ctx, attempt.ClaimRow{InvocationID: "call"})
		ended <- err
	}()
	running := <-s.claimed
	cancel()
	if err := <-ended; !errs.IsTransient(err) {
		t.Errorf("the caller gets %v, want a transient error", err)
	}
	close(s.held)
	if running.Err() == nil {
		t.Error("the statement runs longer than its caller waits")
	}
}

// TestRemoteAlone: if the other process does not answer, the call continues.
func TestRemoteAlone(t *testing.T) {
	t.Parallel()
	d := direct(t, func(point.Hit) point.Order { return point.Order{} })
	d.Close()
	s := store{claimed: make(chan context.Context, 1)}
	if outcome, err := failpoint.NewRemote(d.URL).Records(s).Claim(t.Context(), attempt.ClaimRow{}); outcome != contract.Done || err != nil {
		t.Errorf("%q, %v", outcome, err)
	}
}

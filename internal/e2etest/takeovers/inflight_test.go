package takeovers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// slowService puts requests into a queue. Requests of the first attempt stay there until release is called, even if their senders are gone.
type slowService struct {
	mu sync.Mutex
	// If fences is true, the service refuses requests with an epoch lower than that of the last look.
	fences       bool
	epoch        int
	queue        []int // epochs
	released     bool
	effects      []int // the epochs of the requests that took effect
	refused      int
	looks        int
	arrived      chan struct{}
	changedQueue *sync.Cond
}

func newSlowService(fences bool) *slowService {
	s := &slowService{fences: fences, arrived: make(chan struct{}, 9)}
	s.changedQueue = sync.NewCond(&s.mu)
	return s
}

func (s *slowService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	epoch, err := strconv.Atoi(r.URL.Query().Get("epoch"))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodGet {
		s.look(w, epoch)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, epoch)
	s.arrived <- struct{}{}
	for !s.released {
		s.changedQueue.Wait()
	}
	s.execute()
	if !slices.Contains(s.effects, epoch) {
		w.WriteHeader(http.StatusConflict)
	}
}

// look answers whether there has been an effect.
func (s *slowService) look(w http.ResponseWriter, epoch int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	if s.fences {
		s.epoch = max(s.epoch, epoch)
	}
	if len(s.effects) == 0 {
		w.WriteHeader(http.StatusNotFound)
	}
	if !s.fences { // the request takes effect right after the look
		s.released = true
		s.execute()
		s.changedQueue.Broadcast()
	}
}

// release executes the requests in the queue. Later requests are executed immediately.
func (s *slowService) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.released = true
	s.execute()
	s.changedQueue.Broadcast()
}

func (s *slowService) execute() {
	for _, epoch := range s.queue {
		if epoch < s.epoch {
			s.refused++
		} else {
			s.effects = append(s.effects, epoch)
		}
	}
	s.queue = nil
}

// posts returns tools that send one request to the slow service whose address is their text. Their probe looks whether the service had the effect. The naive tool
// reports no effect whenever it sees none. The fenced one does so too, but its service refuses older requests from then on.
func posts() []toolspec.Tool {
	ask := func(ctx context.Context, method string, in e2etest.In, call toolspec.Call) (status int, err error) {
		address := fmt.Sprintf("%s?key=%s&epoch=%d", in.Text, url.QueryEscape(call.IdempotencyKey), call.Epoch)
		r, err := http.NewRequestWithContext(ctx, method, address, nil)
		if err != nil {
			return 0, err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	run := func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		if status, err := ask(ctx, http.MethodPost, in, call); err != nil || status != http.StatusOK {
			<-ctx.Done() // the service may still execute the request
			return e2etest.Out{}, ctx.Err()
		}
		return e2etest.Out{Text: "made"}, nil
	}
	look := func(ctx context.Context, in e2etest.In, call toolspec.Call) (found toolspec.Found[e2etest.Out], err error) {
		switch status, err := ask(ctx, http.MethodGet, in, call); {
		case err != nil:
			return found, err
		case status == http.StatusOK:
			return toolspec.FoundEffect(e2etest.Out{Text: "found"}), nil
		case status == http.StatusNotFound:
			return toolspec.FoundNoEffect[e2etest.Out](), nil
		default:
			return found, errors.New("the service gave another answer")
		}
	}
	var all []toolspec.Tool
	for _, change := range []func(*toolspec.Definition){
		func(d *toolspec.Definition) { d.ID, d.Timeout = "test__naive", 30*time.Second },
		func(d *toolspec.Definition) { d.ID, d.Timeout = "test__brief", 3*time.Second },
		func(d *toolspec.Definition) { d.ID, d.Timeout, d.Fences = "test__fencing", 5*time.Minute, true },
	} {
		all = append(all, toolspec.DefineWithProbe(e2etest.Tool("", nil, e2etest.Once, e2etest.Attempts(3), change).Definition(), run, look))
	}
	return all
}

// TestProbeWhileARequestIsInFlight: when the probe is called, the request of the first attempt is still in the queue of the service, and it takes effect right
// after that. Before, the worker was killed, or the function returned at its time limit. There is only one effect, because Pawl does not trust the answer
// "no effect" while the first attempt can still be running. If the service refuses the old request, Pawl makes the next attempt before that time is over.
func TestProbeWhileARequestIsInFlight(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		tool     string
		killed   bool
		text     string
		attempts int
		looks    int
		refused  int
		least    time.Duration // the least time until the result
	}{
		{"test__naive", true, "found", 1, 2, 0, 40 * time.Second},
		{"test__brief", false, "found", 1, 2, 0, 13 * time.Second},
		{"test__fencing", true, "made", 2, 1, 1, 0},
	} {
		t.Run(tc.tool, func(t *testing.T) {
			t.Parallel()
			s := newSlowService(tc.tool == "test__fencing")
			server := httptest.NewServer(s)
			t.Cleanup(server.Close)
			t.Cleanup(s.release) // this runs before the server waits for its requests
			w := e2etest.NewWorld(t, e2etest.PlainPolicy)
			first := w.ServeInChild()
			began := time.Now()
			call := w.Start(e2etest.Invocation("call", tc.tool, fmt.Sprintf(`{"text":%q}`, server.URL)))
			e2etest.Receive(t, s.arrived)
			if tc.killed {
				e2etest.Kill(first)
				w.ServeInChild()
			}
			if tc.attempts > 1 {
				e2etest.Receive(t, s.arrived) // the second attempt
				s.release()
			}
			result := w.Result(call)
			took := time.Since(began)
			e2etest.WantText(t, result, tc.text)
			s.mu.Lock()
			defer s.mu.Unlock()
			if result.Attempts != tc.attempts || len(s.effects) != 1 || s.looks != tc.looks || s.refused != tc.refused {
				t.Errorf("%d attempts, effects of the epochs %v, %d looks, %d requests refused", result.Attempts, s.effects, s.looks, s.refused)
			}
			if took < tc.least {
				t.Errorf("it took %s, and the attempt could run for %s", took, tc.least)
			}
			w.Replay(call.WorkflowID)
		})
	}
}

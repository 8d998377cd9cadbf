package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec"
)

// ledger is a shop in memory. It pays for every request whose epoch is not below the fence.
type ledger struct {
	mu       sync.Mutex
	payments []payment
	fences   map[string]int
	// fenceless is a shop that knows no fences.
	fenceless bool
	// arrived gets a message for each request for a refund, which then waits for goOn; nil does
	// not wait. broken answers each with 500 after it was made.
	arrived, goOn chan struct{}
	broken        bool
}

func (l *ledger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.Method == http.MethodPut {
		l.raise(w, r)
		return
	}
	var o order
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if l.arrived != nil {
		l.arrived <- struct{}{}
		select {
		case <-l.goOn:
		case <-r.Context().Done():
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.Epoch < l.fences[o.Reference] {
		w.WriteHeader(http.StatusConflict)
		return
	}
	p := payment{RefundID: fmt.Sprintf("R-%d", len(l.payments)+1), IBAN: "DE02120300000000202051"}
	l.payments = append(l.payments, p)
	if l.broken {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusCreated, p)
}

func (l *ledger) raise(w http.ResponseWriter, r *http.Request) {
	var wanted, found books
	if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if reference := strings.Split(r.URL.Path, "/")[2]; !l.fenceless {
		if l.fences == nil {
			l.fences = map[string]int{}
		}
		l.fences[reference] = max(l.fences[reference], wanted.Fence)
		found.Fence = l.fences[reference]
	}
	if n := len(l.payments); n > 0 {
		found.Refund = &l.payments[n-1]
	}
	answer(w, http.StatusOK, found)
}

func answer(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func (l *ledger) paid() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.payments)
}

// calling is a call of the refund over a connection to the shop.
func calling(l *ledger) pawltest.Call {
	return pawltest.Call{
		Tool: refund(shop{url: "https://api.shop.example"}), Args: refundIn{OrderID: "A-1001", Cents: 500},
		Connection: &pawltest.Connection{
			Provider: broker.Provider{ID: "shop", Kind: broker.Bearer, Hosts: []string{"api.shop.example"}}, Service: l,
		},
	}
}

func TestRefund(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	got := calling(l).Run(t)
	if !got.Result.OK || string(got.Value) != `{"refundId":"R-1"}` || l.paid() != 1 {
		t.Errorf("%+v, paid %d times", got.Result, l.paid())
	}
	call := calling(l)
	call.Connection.Scopes = []string{"orders"}
	if got := call.Run(t); got.Result.ErrorCode != toolspec.CodePolicyDenied || l.paid() != 1 {
		t.Errorf("without the scope: %+v, paid %d times", got.Result, l.paid())
	}
	call = calling(l)
	call.Connection = nil
	if got := call.Run(t); got.Result.ErrorCode != toolspec.CodeValidation {
		t.Errorf("without a connection: %+v", got.Result)
	}
}

// TestProbe: what the shop has is the value of the attempt, redacted like it.
func TestProbe(t *testing.T) {
	t.Parallel()
	l := &ledger{payments: []payment{{RefundID: "R-7", IBAN: "DE02120300000000202051"}}}
	if got := calling(l).Probe(t); got.Finding != toolspec.TookEffect || string(got.Value) != `{"refundId":"R-7"}` {
		t.Errorf("%s %+v", got.Finding, got.Result)
	}
	if got := calling(&ledger{}).Probe(t); got.Finding != toolspec.NoEffect {
		t.Errorf("nothing was paid: %s", got.Finding)
	}
	if got := calling(&ledger{fenceless: true}).Probe(t); got.Finding != toolspec.Unclear {
		t.Errorf("nothing was paid yet: %s", got.Finding)
	}
}

// TestProbeWhileTheAttemptIsInFlight: a probe that says that there was no effect is right for good,
// though the request of the first attempt arrives later. The customer gets the money once.
func TestProbeWhileTheAttemptIsInFlight(t *testing.T) {
	t.Parallel()
	l := &ledger{arrived: make(chan struct{}, 2), goOn: make(chan struct{})}
	const id = "refund-1"
	call := calling(l)
	call.ToolCallID = id
	first := make(chan pawltest.Answer, 1)
	go func() { first <- call.Run(t) }()
	select {
	case <-l.arrived:
	case got := <-first:
		t.Fatalf("the first attempt sent nothing: %+v", got.Result)
	}
	if got := call.Probe(t); got.Finding != toolspec.NoEffect {
		t.Fatalf("the probe says %s", got.Finding)
	}
	close(l.goOn)
	if got := <-first; got.Result.OK || l.paid() != 0 {
		t.Errorf("the first attempt came too late: %+v, paid %d times", got.Result, l.paid())
	}
	again := call
	again.Attempt, again.Epoch = 2, 2
	if got := again.Run(t); !got.Result.OK || l.paid() != 1 {
		t.Errorf("the second attempt: %+v, paid %d times", got.Result, l.paid())
	}
}

// TestLostAnswer: on the real servers, a refund whose answer is lost is found by the probe, and not
// made again.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	l := &ledger{broken: true}
	service := httptest.NewServer(l)
	defer service.Close()
	p := pawltest.Start(t, pawltest.Options{Tools: []toolspec.Tool{refund(shop{url: service.URL})}})
	p.Connect(pawltest.Connection{ID: "shop", Provider: broker.Provider{
		ID: "shop", Kind: broker.Bearer, Hosts: []string{service.Listener.Addr().String()}, Insecure: true,
	}})
	inv := pawltest.Invocation("shop__refund", `{"orderId":"A-1001","cents":500}`)
	inv.Context.ConnectionID, inv.AllowedConnectionIDs = "shop", []string{"shop"}
	call := p.Start(inv)
	p.Decide(call, "user:ann", toolspec.Approve)
	if got := p.Result(call); !got.OK || string(got.Value) != `{"refundId":"R-1"}` || l.paid() != 1 {
		t.Errorf("%+v, paid %d times", got, l.paid())
	}
}

package failpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/point"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// statementTimeout bounds a statement that continues after its caller has given up.
const statementTimeout = 30 * time.Second

// Remote sends a point.Hit to another process at every point, and waits for the point.Order.
type Remote struct {
	url    string
	client *http.Client
}

// NewRemote returns a Remote that asks at url. If a request fails, the call continues at the point.
func NewRemote(url string) *Remote {
	return &Remote{url: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

// Effect asks before and after the effect of a tool. It is a ledger.Around.
func (r *Remote) Effect(e ledger.Effect, effect func() error) error {
	r.ask(point.EffectBefore, e.InvocationID)
	if err := effect(); err != nil {
		return err
	}
	r.ask(point.EffectAfter, e.InvocationID)
	return nil
}

func (r *Remote) hit(p point.Name, call string) { r.ask(p, call) }

// take runs a step. When its context ends the caller gets a transient error, and the step
// continues, like a statement that is already on its way to the server. A step without a late order
// ends with the context of the caller.
func (r *Remote) take(ctx context.Context, s step) (any, error) {
	type answer struct {
		out any
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		running := ctx
		if r.ask(s.before, s.call).Late {
			var cancel context.CancelFunc
			running, cancel = context.WithTimeout(context.WithoutCancel(ctx), statementTimeout)
			defer cancel()
		}
		out, err := s.run(running)
		if err == nil {
			r.ask(s.after, s.call)
		}
		answers <- answer{out, err}
	}()
	select {
	case a := <-answers:
		return a.out, a.err
	case <-ctx.Done():
		return nil, errs.Transient(ctx.Err())
	}
}

// ask returns the order of the other process. It waits without a timeout.
func (r *Remote) ask(p point.Name, call string) (order point.Order) {
	body, err := json.Marshal(point.Hit{At: p, Call: call, PID: os.Getpid()})
	if err != nil {
		return order
	}
	request, err := http.NewRequest(http.MethodPost, r.url, bytes.NewReader(body)) //nolint:noctx // a caller that gives up leaves its step behind
	if err != nil {
		return order
	}
	response, err := r.client.Do(request)
	if err != nil {
		return order
	}
	defer response.Body.Close()
	_ = json.NewDecoder(response.Body).Decode(&order)
	return order
}

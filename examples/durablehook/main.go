// Command durablehook is a worker that tells a web service of every call that
// ended. That may take longer than a moment and the service may be away, so the
// hook is durable: its stage is an activity of its own, tried again until the
// service answers, by another worker where this one is lost.
//
//	pawl dev -- go run ./examples/durablehook -url http://127.0.0.1:9000/calls
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

func main() {
	url := flag.String("url", "", "where calls that ended are posted to")
	flag.Parse()
	os.Exit(worker.Main(worker.Hooks(notify(*url, &http.Client{}))))
}

// notify posts what became of a call. didAudit is one of the stages that every
// call ends with; what fails there is noted in the record and changes nothing.
//
// A hook runs at least once. The service drops what it has seen by the key,
// which is the same whichever worker posts.
func notify(url string, client *http.Client) hook.Hook {
	return hook.New("notify", hook.Durable(30*time.Second), hook.DidAudit.Do(func(ctx context.Context, v *hook.Report) error {
		body, err := json.Marshal(map[string]any{"invocationId": v.InvocationID(), "toolId": v.ToolID(), "ok": v.OK(), "errorCode": v.ErrorCode()})
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", v.IdempotencyKey())
		resp, err := client.Do(req)
		if err != nil {
			return errs.Transient(err) // the service does not answer: try again
		}
		defer resp.Body.Close()
		switch {
		case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
			return errs.Transient(fmt.Errorf("the service answers %d", resp.StatusCode))
		case resp.StatusCode >= 300:
			return fmt.Errorf("the service answers %d", resp.StatusCode)
		}
		return nil
	}))
}

package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// writeTimeout bounds the request for one effect.
const writeTimeout = time.Minute

// Writer sends effects to the ledger at URL.
type Writer struct{ URL string }

// Write sends one effect. After an error the effect may or may not be recorded.
func (w Writer) Write(ctx context.Context, e Effect) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	// Do not reuse connections: the HTTP client repeats a request if a kept connection breaks, and
	// the ledger must record only the effects of the tool.
	request.Close = true
	client := http.Client{Timeout: writeTimeout}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the ledger answers %s", response.Status)
	}
	return nil
}

package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// writeTimeout bounds one effect.
const writeTimeout = time.Minute

// Writer enters effects into the ledger at URL.
type Writer struct{ URL string }

// Write enters one effect. After an error nobody knows whether it was entered.
func (w Writer) Write(ctx context.Context, e Effect) error {
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	// A connection of its own: the client repeats a request by itself where a kept
	// one breaks, and the ledger is to hold what the tool did.
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

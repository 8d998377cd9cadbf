package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// shop is the API of a shop.
type shop struct{ url string }

// payment is a refund as the shop has it.
type payment struct {
	RefundID string `json:"refundId"`
	IBAN     string `json:"iban"`
}

// order is the body of a request for a refund. The shop keeps the reference with the
// refund, and refuses an epoch below the fence of the reference.
type order struct {
	Reference string `json:"reference"`
	Epoch     int    `json:"epoch"`
	OrderID   string `json:"orderId"`
	Cents     int    `json:"cents"`
}

// books are what the shop has of a reference.
type books struct {
	Fence  int      `json:"fence"`
	Refund *payment `json:"refund"`
}

// outcome is what is known of a request.
type outcome int

const (
	unknown outcome = iota
	done
	rejected
)

// pay asks the shop to pay.
func (s shop) pay(ctx context.Context, call toolspec.Call, in refundIn) (p payment, o outcome) {
	status, err := s.send(ctx, call, http.MethodPost, "/refunds",
		order{Reference: call.IdempotencyKey, Epoch: call.Epoch, OrderID: in.OrderID, Cents: in.Cents}, &p)
	switch {
	case err == nil && status == http.StatusCreated:
		return p, done
	case err == nil && status >= 400 && status < 500:
		return p, rejected
	}
	return p, unknown
}

// fence raises the fence of the call's reference to its epoch, and returns what the
// shop has of the reference after that.
func (s shop) fence(ctx context.Context, call toolspec.Call) (b books, err error) {
	status, err := s.send(ctx, call, http.MethodPut, "/references/"+url.PathEscape(call.IdempotencyKey)+"/fence", books{Fence: call.Epoch}, &b)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the shop answers %d", status)
	}
	return b, err
}

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 10

// send sends a request over the connection of the call, whose client adds the
// credential, and reads the answer into v.
func (s shop) send(ctx context.Context, call toolspec.Call, method, path string, body, v any) (status int, err error) {
	client, err := capability.ClientsKey.From(call).For(call.Context.ConnectionID)
	if err != nil {
		return 0, err
	}
	text, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(text))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err := errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode >= 300 {
		return resp.StatusCode, err
	}
	return resp.StatusCode, json.Unmarshal(answer, v)
}

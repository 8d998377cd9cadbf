// Command customtool is a worker with a tool of its own beside the built-in
// ones. The tool is a Go function; its schemas come from its types, and only
// what its redaction allows ever leaves the worker.
//
//	pawl dev --policy examples/policy.yaml -- go run ./examples/customtool
//
// and, in another terminal, in the same directory:
//
//	pawl tools show shop__order_status
//	pawl invoke shop__order_status --args '{"orderId":"A-1001"}'
package main

import (
	"context"
	"os"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

func main() {
	os.Exit(worker.Main(worker.Tools(orderStatus(sample{}))))
}

// orders is what the tool needs of the shop: a database or a service, in life.
type orders interface {
	find(ctx context.Context, orderID string) (o order, ok bool, err error)
}

type order struct{ status, email string }

type statusIn struct {
	OrderID string `json:"orderId" jsonschema:"pattern=^[A-Z]-[0-9]+$,maxLength=20" jsonschema_description:"The number on the order, such as A-1001."`
}

type statusOut struct {
	Status   string   `json:"status" jsonschema:"enum=open,enum=packed,enum=shipped" jsonschema_description:"How far the order is."`
	Customer customer `json:"customer"`
}

type customer struct {
	Email string `json:"email"`
}

// orderStatus is shop__order_status. The function answers with all it knows; the
// e-mail address stays in the worker, because the allowlist does not name it.
func orderStatus(shop orders) toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:          "shop__order_status",
		Title:       "Order status",
		Description: "Says how far an order is. Give the number on the order.",
		Version:     "1",
		Effect:      toolspec.ReadOnly,
		Risk:        toolspec.LowRisk,
		Fast:        true, // the tool answers within three seconds, so Pawl may run it as a local activity
		Redaction:   toolspec.Redaction{Allow: []string{"/status"}},
		Tags:        []string{"shop"},
	}, func(ctx context.Context, in statusIn, call toolspec.Call) (statusOut, error) {
		o, ok, err := shop.find(ctx, in.OrderID)
		switch {
		case err != nil:
			return statusOut{}, err // the text of the error stays in the worker, and Pawl makes another attempt
		case !ok:
			// A safe error ends the call, and the caller reads its text: put no argument and no output into it.
			return statusOut{}, toolspec.Safef("there is no such order")
		}
		call.Logger.InfoContext(ctx, "order found") // the logger knows which call this is
		return statusOut{Status: o.status, Customer: customer{Email: o.email}}, nil
	})
}

// sample stands in for a shop.
type sample struct{}

func (sample) find(_ context.Context, orderID string) (order, bool, error) {
	o, ok := map[string]order{
		"A-1001": {status: "shipped", email: "ann@example.com"},
		"A-1002": {status: "open", email: "ben@example.com"},
	}[orderID]
	return o, ok, nil
}

package main

import (
	"context"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type refundIn struct {
	OrderID string `json:"orderId" jsonschema:"pattern=^[A-Z]-[0-9]+$,maxLength=20" jsonschema_description:"The number on the order, such as A-1001."`
	Cents   int    `json:"cents" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"How much to pay back, in cents."`
}

type refundOut struct {
	RefundID string `json:"refundId"`
	IBAN     string `json:"iban"`
}

// refund is shop__refund. The shop pays once for every request, so the tool is not
// Idempotent and an attempt without an answer must not be repeated blindly. The
// probe looks into the books of the shop.
func refund(s shop) toolspec.Tool {
	return toolspec.DefineWithProbe(toolspec.Definition{
		ID:                 "shop__refund",
		Title:              "Refund",
		Description:        "Pays an amount of an order back to the customer.",
		Version:            "1",
		Effect:             toolspec.ExternalSideEffect,
		Risk:               toolspec.HighRisk,
		Redaction:          toolspec.Redaction{Allow: []string{"/refundId"}}, // the account number stays in the worker
		Capabilities:       []toolspec.CapabilityName{capability.ClientsKey.Name()},
		RequiresConnection: true,
		Scopes:             []string{"refunds"},
		Timeout:            10 * time.Second,
		// The shop refuses late requests, so Pawl believes FoundNoEffect at once.
		Fences: true,
	}, s.refund, s.probe)
}

// refund makes one attempt.
func (s shop) refund(ctx context.Context, in refundIn, call toolspec.Call) (refundOut, error) {
	paid, outcome := s.pay(ctx, call, in)
	switch outcome {
	case done:
		return refundOut(paid), nil
	case rejected:
		return refundOut{}, toolspec.Safef("the shop refuses the refund")
	default:
		// The request may have arrived. An error would end the call as failed, for a tool
		// that returns an error has answered. At the end of its time the attempt has no
		// answer, and Pawl asks the probe.
		<-ctx.Done()
		return refundOut{}, ctx.Err()
	}
}

// probe says what became of the attempts. That there is no refund is not enough to
// say FoundNoEffect: the request of an attempt may still be on its way, in a network
// or in a worker that is held up. So the probe raises the fence first: from then on
// the shop refuses what comes with an epoch below that of this call. Behind the
// fence "there is none" also means that there never will be one.
func (s shop) probe(ctx context.Context, _ refundIn, call toolspec.Call) (toolspec.Found[refundOut], error) {
	books, err := s.fence(ctx, call)
	switch {
	case err != nil:
		return toolspec.Found[refundOut]{}, err // unclear, and Pawl asks again
	case books.Refund != nil:
		return toolspec.FoundEffect(refundOut(*books.Refund)), nil
	case books.Fence >= call.Epoch:
		return toolspec.FoundNoEffect[refundOut](), nil
	}
	// A shop that keeps no fence cannot say that a request will not arrive. The zero
	// value is Unclear: a person decides, or the call ends with outcome_unknown.
	return toolspec.Found[refundOut]{}, nil
}

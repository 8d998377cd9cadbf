package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// Offer is what a request offers to a model, with what its names stand for. Keep it
// until the response is answered: it is JSON.
type Offer struct {
	// Format is that of the codec.
	Format string `json:"format"`
	// Tools is the value of the request's member `tools`; nothing where no tool is
	// offered, and then the request has no such member.
	Tools json.RawMessage `json:"tools,omitempty"`
	// Names says what each name that was sent stands for.
	Names wire.Offer `json:"names"`
	// Changed says what could not be offered as it is, for people: it decides nothing.
	Changed []Changed `json:"changed,omitempty"`
}

// ReadOffer reads an offer that was kept as JSON.
func ReadOffer(kept []byte) (Offer, error) {
	var o Offer
	if err := json.Unmarshal(kept, &o); err != nil || o.Format == "" {
		return Offer{}, errors.New("client: this is no offer")
	}
	if err := o.Names.Check(); err != nil {
		return Offer{}, fmt.Errorf("client: %w", err)
	}
	return o, nil
}

// OfferOptions say how tools are offered.
type OfferOptions struct {
	// Codec is that of the provider's format.
	Codec wire.Codec
	// Strict asks the provider to hold the model to the schemas of all tools, where the
	// format and the schema allow it; without it, to those of the tools that ask for it
	// themselves (Definition.Strict).
	Strict bool
	// Query, if given, narrows the offer to the tools that fit it best.
	Query *catalog.Query
	// Pick, if given, narrows what the caller may see to what this request offers, in
	// its order, instead of Query. What it adds is left out.
	Pick func(catalog.Catalog) []catalog.Entry
}

// Offer offers the tools that a caller may see now. That a tool is offered does not
// mean that it may run, nor that another may not: each call is judged.
func (c *Client) Offer(ctx context.Context, by catalog.Viewer, o OfferOptions) (Offer, error) {
	if o.Codec == nil {
		return Offer{}, errors.New("client: an offer needs the codec of the provider's format")
	}
	visible, err := c.Catalog(ctx, by)
	if err != nil {
		return Offer{}, err
	}
	var entries []catalog.Entry
	switch {
	case o.Pick != nil:
		for _, picked := range o.Pick(visible) {
			if e, seen := visible.Get(picked.Name); seen {
				entries = append(entries, e)
			}
		}
	case o.Query != nil:
		for _, match := range visible.Pick(*o.Query) {
			entries = append(entries, match.Entry)
		}
	default:
		entries = visible.List()
	}
	specs := make([]toolspec.Spec, len(entries))
	for i, e := range entries {
		specs[i] = e.Spec
	}
	return NewOffer(o.Codec, specs, o.Strict)
}

// NewOffer offers tools, in the order in which they are given; strict as
// OfferOptions.Strict has it.
func NewOffer(codec wire.Codec, specs []toolspec.Spec, strict bool) (Offer, error) {
	offer := Offer{Format: codec.Format()}
	forms := make(map[string]wire.Form, len(specs))
	var sent []toolspec.Spec
	for _, s := range specs {
		form, changed, err := formOf(offer.Format, strict || s.Strict, s)
		if err != nil {
			changed.LeftOut = err.Error()
		} else {
			forms[s.Name], sent = form, append(sent, s)
		}
		if changed.LeftOut != "" || changed.NotStrict || len(changed.Findings) > 0 {
			offer.Changed = append(offer.Changed, changed)
		}
	}
	names, tools, err := wire.NewOffer(sent, func(s toolspec.Spec) (wire.Form, error) { return forms[s.Name], nil })
	if err != nil {
		return Offer{}, fmt.Errorf("client: offer: %w", err)
	}
	offer.Names = names
	if offer.Tools, err = codec.Tools(tools); err != nil {
		return Offer{}, fmt.Errorf("client: offer in the format %s: %w", codec.Format(), err)
	}
	return offer, nil
}

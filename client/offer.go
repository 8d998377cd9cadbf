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

// Offer has the tools that a request offers to a model, and the tool ids for the names in the
// request. Keep it until the response is answered. You can store it as JSON.
type Offer struct {
	// Format is the format of the codec.
	Format string `json:"format"`
	// Tools is the value of the request's member `tools`. It is nil if no tool is offered; then
	// leave the member out.
	Tools json.RawMessage `json:"tools,omitempty"`
	// Choice has the other members of the request that say whether the model calls tools, such as
	// `tool_choice`, by their names. It is nil if the request needs no such member.
	Choice map[string]json.RawMessage `json:"choice,omitempty"`
	// Names maps each tool name in the request to its tool.
	Names wire.Offer `json:"names"`
	// Changed lists the tools that could not be offered unchanged. It is information for people.
	Changed []Changed `json:"changed,omitempty"`
	// PickError is the reason why OfferOptions.Picker could not use its vectors, or nil. The offer is valid even
	// then: Picker picked its tools by their words. Do not log PickError if an error of the Embedder can have a
	// secret.
	PickError error `json:"-"`
}

// ReadOffer reads an offer that was stored as JSON.
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

// OfferOptions are the options of an offer.
type OfferOptions struct {
	// Codec is the codec of the provider's format.
	Codec wire.Codec
	// Strict asks the provider to make the model follow the schemas of all tools, if the format
	// and the schema allow it. Without Strict, the provider is asked only for the tools with
	// Definition.Strict.
	Strict bool
	// Choice says whether the model may, must or must not call tools; with the zero value the model
	// decides. Its Name is the id of a tool, or the name under which the tool is offered.
	Choice wire.Choice
	// Query, if given, narrows the offer to the tools that fit it best.
	Query *catalog.Query
	// Picker, if given, answers the Query by the vectors of its Embedder and by words, not by words alone.
	Picker *catalog.Picker
	// Pick, if given, selects the tools of this request from the tools that the caller may see,
	// and sets their order. It is used instead of Query. Tools that are not in the catalog are
	// left out.
	Pick func(catalog.Catalog) []catalog.Entry
}

// Offer offers the tools that a caller may see now. An offer permits nothing and denies nothing:
// the gate judges each call, also a call of a tool that was not offered.
func (c *Client) Offer(ctx context.Context, by catalog.Viewer, o OfferOptions) (Offer, error) {
	if o.Codec == nil {
		return Offer{}, errors.New("client: an offer needs the codec of the provider's format")
	}
	visible, err := c.Catalog(ctx, by)
	if err != nil {
		return Offer{}, err
	}
	var entries []catalog.Entry
	var pickError error
	switch {
	case o.Pick != nil:
		for _, picked := range o.Pick(visible) {
			if e, seen := visible.Get(picked.Name); seen {
				entries = append(entries, e)
			}
		}
	case o.Query != nil:
		var matches []catalog.Match
		matches, pickError = o.Picker.Pick(ctx, visible, *o.Query)
		for _, match := range matches {
			entries = append(entries, match.Entry)
		}
	default:
		entries = visible.List()
	}
	specs := make([]toolspec.Spec, len(entries))
	for i, e := range entries {
		specs[i] = e.Spec
	}
	offer, err := NewOffer(o.Codec, specs, o.Strict)
	offer.PickError = pickError
	if err != nil || o.Choice == (wire.Choice{}) {
		return offer, err
	}
	return offer.WithChoice(o.Codec, o.Choice)
}

// NewOffer offers tools in the given order. strict has the meaning of OfferOptions.Strict.
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

// WithChoice returns the offer with Choice set to the members of the request that express choice, as Client.Offer
// does for OfferOptions.Choice. It returns an error if the format cannot express the choice, if the choice names a
// tool that is not offered, or if the choice demands a call and no tool is offered.
func (o Offer) WithChoice(codec wire.Codec, choice wire.Choice) (Offer, error) {
	if codec.Format() != o.Format {
		return Offer{}, fmt.Errorf("client: offer: it is in the format %s, and the codec is for %s", o.Format, codec.Format())
	}
	if choice.Mode == wire.Named {
		tool, err := o.Names.Resolve(choice.Name)
		if err != nil {
			return Offer{}, fmt.Errorf("client: offer: the choice of %s: %w", toolspec.Quoted(choice.Name), err)
		}
		choice.Name = tool.Name
	}
	if err := choice.Check(); err != nil {
		return Offer{}, fmt.Errorf("client: offer: %w", err)
	}
	o.Choice = nil
	if len(o.Names.Tools) == 0 {
		if choice.Mode == wire.Required {
			return Offer{}, errors.New("client: offer: the choice requires a call, and no tool is offered")
		}
		return o, nil // providers refuse a choice without tools
	}
	members, err := codec.Choice(choice)
	if err != nil {
		return Offer{}, fmt.Errorf("client: offer in the format %s: %w", codec.Format(), err)
	}
	for _, m := range members {
		if o.Choice == nil {
			o.Choice = map[string]json.RawMessage{}
		}
		o.Choice[m.Name] = m.Value
	}
	return o, nil
}

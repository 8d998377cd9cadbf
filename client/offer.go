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
	// Offered are the tools by their names.
	Offered []OfferedTool `json:"offered"`
}

// OfferedTool is a tool as it was offered.
type OfferedTool struct {
	// Name is what the model calls, and ToolID what that is.
	Name   string `json:"name"`
	ToolID string `json:"toolId"`
	// Digest is the tool's when it was offered.
	Digest string          `json:"digest"`
	Effect toolspec.Effect `json:"effect"`
}

// Tool is the tool that was offered under a name, letter by letter.
func (o Offer) Tool(name string) (OfferedTool, bool) {
	for _, t := range o.Offered {
		if t.Name == name {
			return t, true
		}
	}
	return OfferedTool{}, false
}

// NameOf is the name under which a tool was offered; its id where it was not.
func (o Offer) NameOf(toolID string) string {
	for _, t := range o.Offered {
		if t.ToolID == toolID {
			return t.Name
		}
	}
	return toolID
}

// Restore takes back what an offered form did to the arguments.
func (t OfferedTool) Restore(args json.RawMessage) json.RawMessage { return args }

// OfferOptions say how tools are offered.
type OfferOptions struct {
	// Codec is that of the provider's format.
	Codec wire.Codec
	// Pick, if given, narrows what the caller may see to what this request offers, in
	// its order: see catalog.Catalog.Pick. What it adds is left out.
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
	entries := visible.List()
	if o.Pick != nil {
		entries = nil
		for _, picked := range o.Pick(visible) {
			if e, seen := visible.Get(picked.Name); seen {
				entries = append(entries, e)
			}
		}
	}
	specs := make([]toolspec.Spec, len(entries))
	for i, e := range entries {
		specs[i] = e.Spec
	}
	return NewOffer(o.Codec, specs)
}

// NewOffer offers tools, as they are given.
func NewOffer(codec wire.Codec, specs []toolspec.Spec) (Offer, error) {
	offer := Offer{Format: codec.Format(), Offered: make([]OfferedTool, len(specs))}
	tools := make([]wire.Tool, len(specs))
	for i, s := range specs {
		offer.Offered[i] = OfferedTool{Name: s.Name, ToolID: s.Name, Digest: s.Digest, Effect: s.Effect}
		tools[i] = wire.Tool{Name: s.Name, Description: s.Description, Schema: s.InputSchema}
	}
	var err error
	if offer.Tools, err = codec.Tools(tools); err != nil {
		return Offer{}, fmt.Errorf("client: offer in the format %s: %w", codec.Format(), err)
	}
	return offer, nil
}

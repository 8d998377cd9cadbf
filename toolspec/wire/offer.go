package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Offer is the tools of one request: the tool behind each name, and the form in which it was sent.
// A program keeps it with the request, as one JSON value. So a response is resolved by the tools
// that were sent, also if the catalog changed since (RG-26).
type Offer struct {
	// V is the version of this format, 1.
	V     int       `json:"v"`
	Tools []Offered `json:"tools"`
}

// Offered is one tool of an Offer.
type Offered struct {
	// Name is the name that was sent to the provider.
	Name string `json:"name"`
	// ToolID is the id of the tool. Policy, records and approvals use it.
	ToolID string `json:"toolId"`
	// ToolDigest and SchemaHash are the values of the tool's Spec.
	ToolDigest string `json:"toolDigest"`
	SchemaHash string `json:"schemaHash"`
	// Effect is the effect of the tool. It decides whether calls may run at the same time.
	Effect toolspec.Effect `json:"effect,omitempty"`
	// Strict reports whether the provider was asked to enforce the schema.
	Strict bool `json:"strict,omitempty"`
	// Mapping describes how arguments in the sent form become arguments of the tool's own schema.
	// Package toolspec/schema makes it together with the form. It is absent if the tool's own
	// schema was sent.
	Mapping json.RawMessage `json:"mapping,omitempty"`
}

const offerVersion = 1

// Form is the schema that a provider gets instead of the tool's own schema.
type Form struct {
	Schema  json.RawMessage
	Strict  bool
	Mapping json.RawMessage
}

// NewOffer makes an offer of the tools, in their order. form returns the form of a tool; with a nil
// form, every tool is sent with its own schema and is not strict. NewOffer returns an error if a
// tool occurs twice, or if two tools have the same sent name.
func NewOffer(specs []toolspec.Spec, form func(toolspec.Spec) (Form, error)) (Offer, []Tool, error) {
	if form == nil {
		form = func(s toolspec.Spec) (Form, error) { return Form{Schema: s.InputSchema}, nil }
	}
	offer, tools := Offer{V: offerVersion}, make([]Tool, 0, len(specs))
	for _, s := range specs {
		f, err := form(s)
		if err != nil {
			return Offer{}, nil, fmt.Errorf("tool %s: %w", s.Name, err)
		}
		name := SentName(s.Name)
		offer.Tools = append(offer.Tools, Offered{
			Name: name, ToolID: s.Name, ToolDigest: s.Digest, SchemaHash: s.SchemaHash, Effect: s.Effect, Strict: f.Strict, Mapping: f.Mapping,
		})
		tools = append(tools, Tool{Name: name, Description: s.Description, Schema: f.Schema, Strict: f.Strict})
	}
	if err := offer.Check(); err != nil {
		return Offer{}, nil, err
	}
	return offer, tools, nil
}

// Check returns an error for an offer that NewOffer cannot have made: an unknown version, a tool
// without an id, a tool that occurs twice, a name that no provider accepts, or a name of two tools.
func (o Offer) Check() error {
	if o.V != offerVersion {
		return fmt.Errorf("an offer of version %d, and %d is known", o.V, offerVersion)
	}
	names, ids := make(map[string]string, len(o.Tools)), make(map[string]bool, len(o.Tools))
	for _, t := range o.Tools {
		switch {
		case t.ToolID == "":
			return errors.New("an offer has a tool without an id")
		case ids[t.ToolID]:
			return fmt.Errorf("tool %s is offered twice", t.ToolID)
		case !SafeName(t.Name):
			return fmt.Errorf("tool %s: %q is no name that a provider takes", t.ToolID, t.Name)
		case names[t.Name] != "":
			return fmt.Errorf("tools %s and %s would both be called %s", names[t.Name], t.ToolID, t.Name)
		}
		names[t.Name], ids[t.ToolID] = t.ToolID, true
	}
	return nil
}

// Resolve returns the tool that a model means by name: the tool that was sent under the name;
// otherwise the tool with this id; otherwise the only tool whose id is the name with a namespace
// before it (C-09). Resolve accepts these aliases from a model only; records have the ToolID. The
// error is [ErrNotOffered] or [ErrAmbiguous], with a text that the model may read.
func (o Offer) Resolve(name string) (Offered, error) {
	for _, means := range []func(Offered) bool{
		func(t Offered) bool { return t.Name == name },
		func(t Offered) bool { return t.ToolID == name },
		func(t Offered) bool { return toolspec.BareName(t.ToolID) == name && name != "" },
	} {
		var found []Offered
		for _, t := range o.Tools {
			if means(t) {
				found = append(found, t)
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		names := make([]string, len(found))
		for i, t := range found {
			names[i] = t.Name
		}
		return Offered{}, fmt.Errorf("%w: it could be %s", ErrAmbiguous, strings.Join(names, " or "))
	}
	return Offered{}, ErrNotOffered
}

// Errors of Resolve. They do not contain the name, because a model may write anything as a name.
var (
	ErrNotOffered = errors.New("no tool of that name was offered")
	ErrAmbiguous  = errors.New("that name is not a tool's whole name")
)

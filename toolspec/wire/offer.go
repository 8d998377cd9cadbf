package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Offer is what a request offered: which tool each name meant, and in what form.
// It is kept with the request as one JSON value, so that a response is resolved
// by what was sent and not by what the catalogue has become (RG-26).
type Offer struct {
	// V is the version of this shape, 1.
	V     int       `json:"v"`
	Tools []Offered `json:"tools"`
}

// Offered is one tool of an Offer.
type Offered struct {
	// Name is the one that was sent.
	Name string `json:"name"`
	// ToolID is the id that the name stands for; it is what policy, records and
	// approvals speak of.
	ToolID string `json:"toolId"`
	// ToolDigest and SchemaHash are those of the tool's Spec.
	ToolDigest string `json:"toolDigest"`
	SchemaHash string `json:"schemaHash"`
	// Effect is what a call of the tool may do, as far as the order of calls goes by it.
	Effect toolspec.Effect `json:"effect,omitempty"`
	// Strict says that the provider was told to hold the model to the schema.
	Strict bool `json:"strict,omitempty"`
	// Mapping says how arguments of the form that was sent become arguments of the
	// tool's own schema: what toolspec/schema gave with the form. Absent where the
	// tool's own schema was sent.
	Mapping json.RawMessage `json:"mapping,omitempty"`
}

const offerVersion = 1

// Form is the schema that a provider gets in place of a tool's own.
type Form struct {
	Schema  json.RawMessage
	Strict  bool
	Mapping json.RawMessage
}

// NewOffer offers tools in their order. form gives the form of each; nil sends
// every tool's own schema, not strict. It fails where a tool is there twice or
// two have come to one name.
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

// Check refuses what no request offered: another version, a tool without an id or
// twice, a name that no provider takes or that two tools have.
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

// Resolve finds the tool that a model's name means: the one that was sent by that
// name, else the one with that id, else the only one whose id is that name behind
// its namespace (C-09). Such aliases are taken from a model and never sent or
// kept: the ToolID is. It fails with [ErrNotOffered] or [ErrAmbiguous], in words
// that the model may read.
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

// What Resolve fails with. The name is left out: it is the model's, and may be
// anything.
var (
	ErrNotOffered = errors.New("no tool of that name was offered")
	ErrAmbiguous  = errors.New("that name is not a tool's whole name")
)

package review

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// Judge returns the decision of a policy on one of the cases, and the differences from the
// decision that its author expects. specs are the published tools. An error says that no call
// like the case can reach the policy: nobody knows its tool, the tool does not accept its
// arguments, or the declaration of the tool contradicts the published one.
func (c Cases) Judge(one Case, p *policy.Policy, specs []toolspec.Spec) (Explanation, []Difference, error) {
	spec, known := c.Spec(one.Facts.ToolID, specs)
	if !known {
		return Explanation{}, nil, fmt.Errorf("no worker has published %q; say under tools what it declares, or give the tool to pawltest.Cases", one.Facts.ToolID)
	}
	if err := c.contradiction(spec); err != nil {
		return Explanation{}, nil, err
	}
	if one.Facts.HasArgs {
		args, err := AcceptedArgs(spec, one.Facts.Args)
		if err != nil {
			return Explanation{}, nil, err
		}
		one.Facts.Args = args
	}
	explained := Explain(p, one.Facts.Of(spec))
	return explained, one.Compare(explained.Decision), nil
}

// contradiction returns an error if the author declares another effect, another risk or other tags than the
// published tool has. A policy that passes with such a declaration may fail in production.
func (c Cases) contradiction(spec toolspec.Spec) error {
	i := slices.IndexFunc(c.Tools, func(s toolspec.Spec) bool { return s.Name == spec.Name })
	if i < 0 {
		return nil
	}
	said := c.Tools[i]
	for _, d := range []Difference{
		{"effect", string(spec.Effect), string(said.Effect)}, {"risk", string(spec.Risk), string(said.Risk)},
		{"tags", fmt.Sprint(spec.Tags), fmt.Sprint(said.Tags)},
	} {
		if d.Want != d.Got && !(d.What == "tags" && said.Tags == nil) {
			return fmt.Errorf("%s is published with the %s %s, and not %s as under tools: correct it, or leave the tool out there", spec.Name, d.What, d.Want, d.Got)
		}
	}
	return nil
}

// AcceptedArgs returns arguments in the form in which a call of a published tool has them. It is
// an error if the tool does not accept them: such a call ends before policy sees its arguments.
func AcceptedArgs(spec toolspec.Spec, raw json.RawMessage) (json.RawMessage, error) {
	args, fault := hydrate.Args(raw)
	if fault != nil {
		return nil, fmt.Errorf("the arguments: %w", fault)
	}
	if len(spec.InputSchema) == 0 {
		return args, nil
	}
	compiled, err := jsonschema.Compile(spec.InputSchema)
	if err != nil {
		return nil, fmt.Errorf("the input schema of %s: %w", spec.Name, err)
	}
	if problems := compiled.Validate(args); len(problems) > 0 {
		return nil, fmt.Errorf("the arguments are not valid for %s, so policy would not see them: %s: %s", spec.Name, problems[0].Path, problems[0].Message)
	}
	return args, nil
}

package openapi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/httptool"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

const (
	draft = "https://json-schema.org/draft/2020-12/schema"
	// maxInput bounds the input schema of a tool, in bytes.
	maxInput = jsonschema.MaxDocumentBytes
	// maxOutput bounds the schema of a value, in bytes. A larger one accepts any value in its depth.
	maxOutput = 16 << 10
)

// build is a tool that is being made of an operation.
type build struct {
	d    *doc
	op   operation
	tool httptool.Tool
	// in converts the schemas of arguments. properties and required are those of the input schema.
	in         *schemas
	properties object
	required   []any
}

// leaving says what a tool leaves out, because a worker could not check it.
type leaving int

const (
	nothing leaving = iota
	patterns
	patternsAndOutput
)

// tool maps an operation. If a worker would refuse the schemas, it leaves out the patterns of arguments,
// and then the schema of the value too.
func (d *doc) tool(op operation) (httptool.Tool, error) {
	var first error
	for out := nothing; out <= patternsAndOutput; out++ {
		notes := len(d.report.Notes)
		tool, err := d.build(op, out)
		var f *fault
		if errors.As(err, &f) {
			return tool, err
		}
		if err == nil {
			err = bind(tool)
		}
		if err == nil {
			switch out {
			case patterns:
				d.note(op, op.at, "the patterns of arguments are left out: %v", first)
			case patternsAndOutput:
				d.note(op, op.at, "the patterns of arguments and the schema of the value are left out: %v", first)
			default:
			}
			return tool, nil
		}
		d.report.Notes = d.report.Notes[:notes]
		if first == nil {
			first = err
		}
	}
	return httptool.Tool{}, fmt.Errorf("cannot be a tool: %w", first)
}

// bind checks a tool by all rules of a worker.
func bind(tool httptool.Tool) error {
	bound, err := tool.Bind("")
	if err != nil {
		return err
	}
	provided, err := toolspec.NewCapabilities(capability.ClientsKey.Provide(broker.Outside{}), capability.PublicHTTPKey.Provide(nil))
	if err != nil {
		return err
	}
	_, err = catalog.Bind(bound, provided)
	return err
}

// build makes the tool. Errors with a place are final.
func (d *doc) build(op operation, out leaving) (httptool.Tool, error) {
	if op.method == "TRACE" {
		return httptool.Tool{}, &fault{op.at, "the method TRACE is not supported"}
	}
	b := &build{d: d, op: op, in: d.schemas(true)}
	b.in.plain = out != nothing
	b.describe()
	var err error
	if b.tool.Connection, b.tool.Scopes, err = d.connection(op); err != nil {
		return b.tool, err
	}
	if err := d.place(op, &b.tool); err != nil {
		return b.tool, err
	}
	if err := b.parameters(); err != nil {
		return b.tool, err
	}
	if err := b.body(); err != nil {
		return b.tool, err
	}
	if err := b.response(out == patternsAndOutput); err != nil {
		return b.tool, err
	}
	return b.tool, b.input()
}

// describe sets what the tool is, and what its effect is by its method.
func (b *build) describe() {
	op, t := b.op, &b.tool
	t.ID, t.Version, t.Request.Method = op.toolID, "1", op.method
	t.Title = oneLine(op.get("summary").text(), 200)
	t.Description = clip(strings.TrimSpace(printable(op.get("description").text())), 4000)
	if t.Description == "" {
		t.Description = t.Title
	}
	if t.Description == "" {
		t.Description = "Sends " + op.name() + "."
	}
	for _, tag := range op.get("tags").texts() {
		if tag = oneLine(tag, 64); tag != "" && len(t.Tags) < 16 {
			t.Tags = append(t.Tags, tag)
		}
	}
	t.Effect, t.Risk = toolspec.ExternalSideEffect, toolspec.MediumRisk
	switch op.method {
	case "GET", "HEAD", "OPTIONS":
		t.Effect, t.Risk = toolspec.ReadOnly, toolspec.LowRisk
	case "DELETE":
		t.Risk = toolspec.HighRisk
	}
	for _, e := range b.d.options.Effects {
		if op.matches(e.Glob) {
			t.Effect = e.Effect
			if t.Risk == toolspec.LowRisk && e.Effect != toolspec.ReadOnly {
				t.Risk = toolspec.MediumRisk
			}
		}
	}
}

// arg adds an argument. It returns its name, which is another one if the name is taken.
func (b *build) arg(name, other string, schema any, required bool) string {
	_, taken := b.properties.get(name)
	if taken || toolspec.FoldName(name) == "connectionid" {
		name = other
	}
	for i := 2; ; i++ {
		if _, taken := b.properties.get(name); !taken {
			break
		}
		name = fmt.Sprintf("%s_%d", other, i)
	}
	b.properties.add(name, schema)
	if required {
		b.required = append(b.required, name)
	}
	return name
}

// input writes the input schema.
func (b *build) input() error {
	schema := object{{"$schema", draft}, {"type", "object"}, {"properties", b.properties}}
	if b.properties == nil {
		schema.set("properties", object{})
	}
	if len(b.required) > 0 {
		schema.add("required", b.required)
	}
	schema.add("additionalProperties", false)
	if len(b.in.defs) > 0 {
		schema.add("$defs", b.in.defs)
	}
	var err error
	if b.tool.Input, err = encodeSchema(schema); err != nil {
		return &fault{b.op.at, "the schema of its arguments " + err.Error()}
	}
	if len(b.tool.Input) > maxInput {
		return &fault{b.op.at, fmt.Sprintf("its arguments need a schema of %d KiB, of at most %d", len(b.tool.Input)>>10, maxInput>>10)}
	}
	if len(b.tool.Input) > toolspec.DefaultMaxArgs || b.tool.Request.Body != nil {
		b.tool.MaxArgsBytes = toolspec.MaxInline
	}
	for _, name := range b.d.options.Harmless {
		if b.in.harmless[name] {
			b.tool.HarmlessNames = append(b.tool.HarmlessNames, name)
		}
	}
	for _, at := range b.in.dropped {
		b.d.note(b.op, at, "the argument is left out: its name looks like a credential. If it is none, use --harmless")
	}
	return nil
}

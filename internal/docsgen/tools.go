package docsgen

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// Runner makes a call of a tool and returns its value.
type Runner func(tool toolspec.Tool, args string) json.RawMessage

// toolPages describes the built-in tools by their contracts. run makes the example calls of tools without capabilities.
func toolPages(run Runner) (map[string]string, error) {
	registry, err := catalog.Describe("builtin", append(tools.All(), tools.WriteMemoryDump())...)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var b strings.Builder
	for _, spec := range registry.Specs() {
		bound, _ := registry.Get(spec.Name)
		def := bound.Definition()
		needs := "nothing"
		if len(spec.Capabilities) > 0 {
			needs = strings.Join(spec.Capabilities, ", ")
		}
		rows = append(rows, []string{"[" + code(spec.Name) + "](#" + spec.Name + ")", cell(def.Title), code(string(def.Effect)), string(def.Risk), needs})
		fmt.Fprintf(&b, "## %s\n\n%s: %s\n\n%s\n", spec.Name, def.Title, noEmphasis(def.Description), propertiesOf(def, needs))
		arguments, err := argumentRows("", spec.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", spec.Name, err)
		}
		if len(arguments) == 0 {
			b.WriteString("It takes no arguments.\n\n")
		} else {
			fmt.Fprintf(&b, "%s\n", table([]string{"argument", "type", "required", "meaning"}, arguments))
		}
		for _, e := range def.Examples {
			if err := example(&b, bound, e, run); err != nil {
				return nil, fmt.Errorf("tool %s: example %q: %w", spec.Name, e.Title, err)
			}
		}
	}
	return map[string]string{"tools": table([]string{"tool", "title", "effect", "risk", "capabilities"}, rows) + "\n" + b.String()}, nil
}

// propertiesOf writes what a tool declares beside its arguments.
func propertiesOf(def toolspec.Definition, needs string) string {
	attempts := "runs once"
	if def.MaxAttempts > 1 {
		attempts = fmt.Sprintf("at most %d attempts", def.MaxAttempts)
	}
	result := fmt.Sprintf("result at most %s", size(def.MaxResultBytes))
	if def.Stream != "" {
		result += ", beside its stream"
	}
	var how []string
	for _, property := range []struct {
		is   bool
		what string
	}{{def.Fast, "fast"}, {def.Heavy, "heavy"}, {def.Idempotent, "idempotent"}, {def.RequiresConnection, "acts with a connection"}} {
		if property.is {
			how = append(how, property.what)
		}
	}
	rows := [][]string{
		{"effect, risk", code(string(def.Effect)) + ", " + string(def.Risk)},
		{"capabilities", needs},
		{"limits", fmt.Sprintf("arguments at most %s; %s; %s for one attempt; %s", size(def.MaxArgsBytes), result, def.Timeout, attempts)},
	}
	if len(how) > 0 {
		rows = append(rows, []string{"declares", strings.Join(how, ", ")})
	}
	return table([]string{"contract", ""}, rows)
}

// size writes a number of bytes.
func size(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return strconv.Itoa(n>>20) + " MiB"
	case n >= 1<<10 && n%(1<<10) == 0:
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n) + " bytes"
}

// argumentSchema is the part of a schema that a row shows.
type argumentSchema struct {
	Type        json.RawMessage `json:"type"`
	Description string          `json:"description"`
	Properties  json.RawMessage `json:"properties"`
	Required    []string        `json:"required"`
	Items       json.RawMessage `json:"items"`
	Enum        []any           `json:"enum"`
	Pattern     string          `json:"pattern"`
	Default     json.RawMessage `json:"default"`
	Minimum     json.Number     `json:"minimum"`
	Maximum     json.Number     `json:"maximum"`
	MinLength   json.Number     `json:"minLength"`
	MaxLength   json.Number     `json:"maxLength"`
	MinItems    json.Number     `json:"minItems"`
	MaxItems    json.Number     `json:"maxItems"`
}

// argumentRows writes a row for each property of an object, and for the properties of the objects in it.
func argumentRows(prefix string, document json.RawMessage) (rows [][]string, err error) {
	var object argumentSchema
	if err := json.Unmarshal(document, &object); err != nil {
		return nil, err
	}
	names, err := keys(object.Properties)
	if err != nil {
		return nil, err
	}
	var properties map[string]json.RawMessage
	if len(object.Properties) > 0 {
		if err := json.Unmarshal(object.Properties, &properties); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		var s argumentSchema
		if err := json.Unmarshal(properties[name], &s); err != nil {
			return nil, err
		}
		required := ""
		if slices.Contains(object.Required, name) {
			required = "yes"
		}
		path := prefix + name
		rows = append(rows, []string{code(path), cell(typeOf(s)), required, cell(s.Description)})
		inner, below := properties[name], path+"."
		if len(s.Items) > 0 {
			inner, below = s.Items, path+"[]."
		}
		nested, err := argumentRows(below, inner)
		if err != nil {
			return nil, err
		}
		rows = append(rows, nested...)
	}
	return rows, nil
}

// typeOf writes the type of an argument and its bounds.
func typeOf(s argumentSchema) string {
	name := strings.Trim(string(s.Type), `"`)
	if len(s.Items) > 0 {
		var items argumentSchema
		if json.Unmarshal(s.Items, &items) == nil && len(items.Type) > 0 {
			name = "list of " + strings.Trim(string(items.Type), `"`)
		}
	}
	parts := []string{name}
	for _, bound := range []struct {
		low, high json.Number
		unit      string
	}{{s.Minimum, s.Maximum, ""}, {s.MinLength, s.MaxLength, " characters"}, {s.MinItems, s.MaxItems, " elements"}} {
		switch {
		case bound.low != "" && bound.high != "":
			parts = append(parts, string(bound.low)+"–"+string(bound.high)+bound.unit)
		case bound.high != "":
			parts = append(parts, "at most "+string(bound.high)+bound.unit)
		case bound.low != "":
			parts = append(parts, "at least "+string(bound.low)+bound.unit)
		}
	}
	if len(s.Enum) > 0 {
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(v)
		}
		parts = append(parts, "one of "+strings.Join(values, ", "))
	}
	if s.Pattern != "" {
		parts = append(parts, "pattern "+code(s.Pattern))
	}
	return strings.Join(parts, ", ")
}

// keys returns the names of an object in the order in which it has them.
func keys(object json.RawMessage) (names []string, err error) {
	if len(object) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		text, ok := name.(string)
		if !ok {
			return nil, errors.New("properties are no object")
		}
		names = append(names, text)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// example writes a call. A tool without capabilities only computes, so the page shows its result too.
func example(b *strings.Builder, bound *catalog.Bound, e toolspec.Example, run Runner) error {
	fmt.Fprintf(b, "Example: %s\n\n", e.Title)
	if err := jsonBlock(b, []byte(e.Args)); err != nil {
		return err
	}
	if len(bound.Definition().Capabilities) > 0 {
		return nil
	}
	b.WriteString("Its value:\n\n")
	return jsonBlock(b, run(bound.Tool(), e.Args))
}

func jsonBlock(b *strings.Builder, text []byte) error {
	var indented bytes.Buffer
	if err := json.Indent(&indented, bytes.TrimSpace(text), "", "  "); err != nil {
		return err
	}
	fmt.Fprintf(b, "```json\n%s\n```\n\n", indented.String())
	return nil
}

// cell is a text as a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

// noEmphasis is a description as running text: Markdown must not take its stars for emphasis.
func noEmphasis(text string) string { return strings.ReplaceAll(text, "*", `\*`) }

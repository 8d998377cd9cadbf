package toolspec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Redaction is what of a tool's data may be shown. It is required of every tool
// (REDACTION_REQUIRED) and the same for the model, the record and the UI.
type Redaction struct {
	// Allow lists the parts of the output that leave the tool, as JSON pointers
	// in which `*` stands for every element of an array and every value of a
	// map: `/entries/*/name`. A listed path keeps all below it. What is not
	// listed is stripped. At least one path is needed.
	Allow []string
	// MaskInput lists the parts of the arguments that approvers, records and
	// events see as "***", in the same notation.
	MaskInput []string
	// MaskOutput hides parts of what Allow lists, such as the email addresses in a text.
	MaskOutput []Masking
	// MaskStream hides parts of the text that the tool writes to Call.Output, before any of it is
	// stored. A match of at most 4096 bytes is masked wherever it is in the stream, except for patterns
	// that depend on the text around a match: ^ and $ without (?m), \b and \B. Numbers of cards, phones and
	// accounts are masked if they are written in one line.
	MaskStream []Masker
}

// Mask stands in the place of what is masked.
const Mask = "***"

// Check reports the first path that is not a pointer, or an empty allowlist.
func (r Redaction) Check() error {
	if len(r.Allow) == 0 {
		return fmt.Errorf("redaction.allow is empty: list the output paths that may be shown, such as /text")
	}
	for _, p := range slices.Concat(r.Allow, r.MaskInput) {
		if p != "" && !strings.HasPrefix(p, "/") {
			return fmt.Errorf("redaction path %q is not a JSON pointer: start it with /", p)
		}
	}
	if len(r.MaskOutput) > maxMaskings {
		return fmt.Errorf("redaction.maskOutput has %d entries, of at most %d", len(r.MaskOutput), maxMaskings)
	}
	if _, err := r.Stream(); err != nil {
		return err
	}
	if _, err := CompileMasks(r.MaskOutput...); err != nil {
		return fmt.Errorf("redaction.maskOutput: %w", err)
	}
	return nil
}

// OutputRedactor redacts the outputs of a tool. It is safe for concurrent use.
type OutputRedactor struct {
	allow [][]string
	masks Masks
}

// CompileOutput compiles Allow and MaskOutput.
func (r Redaction) CompileOutput() (o OutputRedactor, err error) {
	if o.allow, err = splitPaths(r.Allow); err != nil {
		return o, err
	}
	if o.masks, err = CompileMasks(r.MaskOutput...); err != nil {
		return o, fmt.Errorf("redaction.maskOutput: %w", err)
	}
	return o, nil
}

// Redact returns value with everything stripped that Allow does not list, and masked as MaskOutput
// and more say. It is deterministic: the same value gives the same bytes, keys sorted. A second pass
// changes nothing.
func (o OutputRedactor) Redact(value json.RawMessage, more Masks) (json.RawMessage, error) {
	v, err := decodeValue(value)
	if err != nil {
		return nil, err
	}
	kept, _ := keep(v, o.allow)
	return json.Marshal(more.apply(o.masks.apply(kept)))
}

// RedactText masks a text with all maskings of the tool and of more, whatever part of an output each
// is for.
func (o OutputRedactor) RedactText(text string, more Masks) string {
	for _, one := range slices.Concat(o.masks, more) {
		text = one.find.mask(text)
	}
	return text
}

// Output redacts one value: see [OutputRedactor.Redact].
func (r Redaction) Output(value json.RawMessage) (json.RawMessage, error) {
	o, err := r.CompileOutput()
	if err != nil {
		return nil, err
	}
	return o.Redact(value, nil)
}

// Input returns args with every value masked that MaskInput lists.
func (r Redaction) Input(args json.RawMessage) (json.RawMessage, error) {
	if len(r.MaskInput) == 0 {
		return args, nil
	}
	paths, err := splitPaths(r.MaskInput)
	if err != nil {
		return nil, err
	}
	v, err := decodeValue(args)
	if err != nil {
		return nil, err
	}
	return json.Marshal(maskPaths(v, paths))
}

// keep returns what paths leave of v, and whether anything was left. A value
// of another shape than the path expects is stripped.
func keep(v any, paths [][]string) (any, bool) {
	for _, p := range paths {
		if len(p) == 0 {
			return v, true
		}
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any)
		for name, child := range v {
			if kept, ok := keep(child, below(paths, name)); ok {
				out[name] = kept
			}
		}
		return out, len(paths) > 0
	case []any:
		out := make([]any, 0, len(v))
		elements := below(paths, "*")
		for _, child := range v {
			if kept, ok := keep(child, elements); ok {
				out = append(out, kept)
			}
		}
		return out, len(paths) > 0
	}
	return nil, false
}

// maskPaths replaces every value at one of the paths by Mask. It changes v and returns it. An index in a path is an element of
// a list.
func maskPaths(v any, paths [][]string) any {
	if len(paths) == 0 {
		return v
	}
	for _, p := range paths {
		if len(p) == 0 {
			return Mask
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			v[name] = maskPaths(child, below(paths, name))
		}
	case []any:
		for i, child := range v {
			v[i] = maskPaths(child, below(paths, strconv.Itoa(i)))
		}
	}
	return v
}

// below returns the rests of the paths that go through name.
func below(paths [][]string, name string) [][]string {
	var rest [][]string
	for _, p := range paths {
		if len(p) > 0 && (p[0] == name || p[0] == "*") {
			rest = append(rest, p[1:])
		}
	}
	return rest
}

func splitPaths(pointers []string) ([][]string, error) {
	paths := make([][]string, 0, len(pointers))
	for _, p := range pointers {
		if p == "" || p == "/" {
			paths = append(paths, nil)
			continue
		}
		if !strings.HasPrefix(p, "/") {
			return nil, fmt.Errorf("redaction path %q is not a JSON pointer", p)
		}
		parts := strings.Split(p[1:], "/")
		for i, part := range parts {
			parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		}
		paths = append(paths, parts)
	}
	return paths, nil
}

// decodeValue returns a JSON value as data, with numbers as json.Number. It ignores text after the value.
func decodeValue(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("not JSON")
	}
	return v, nil
}

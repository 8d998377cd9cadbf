package hydrate

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Repairer repairs arguments that did not parse or that their schema refused. It is asked once per
// call, and only if policy allows it. Repaired arguments are parsed and validated, and a person
// must approve them. A Repairer must be deterministic, bounded by the size of its input, and safe
// for concurrent use.
type Repairer interface {
	// Name is recorded in the provenance.
	Name() string
	// Repair returns the repaired arguments and the names of the repairs. ok is false if it cannot
	// repair them.
	Repair(d Damage) (args []byte, repairs []string, ok bool)
}

// Damage is the input of a Repairer. The Repairer must not keep or change it.
type Damage struct {
	// Text is the text of the arguments, at most as large as the tool accepts.
	Text []byte
	// Stage is parse or validate.
	Stage toolspec.HydrationOutcome
	// Problems are the problems that were found.
	Problems []toolspec.Problem
	// Schema is the document of the arguments; nil if there is none.
	Schema json.RawMessage
}

// The repairs of Careful.
const (
	RepairFence    = "markdown_fence"   // ```json … ``` around the whole
	RepairComma    = "trailing_comma"   // a comma after the last member
	RepairKey      = "unquoted_key"     // {path: …}
	RepairWord     = "python_word"      // True, False, None
	RepairQuotes   = "single_quotes"    // as ToleratedQuotes, with other faults
	RepairToNumber = "text_to_number"   // "7" where the schema wants a number
	RepairToBool   = "text_to_boolean"  // "true" where the schema wants a boolean
	RepairToText   = "number_to_text"   // 7 where the schema wants a string; not 7.0
	RepairUnwrap   = "text_to_document" // "[1]" where it wants an array or an object
)

// Careful is the built-in repairer. It repairs common mistakes of models that have only one
// correction. It never adds, drops or guesses a value, so a text that was cut stays refused.
type Careful struct{}

// Name returns "careful".
func (Careful) Name() string { return "careful" }

// Repair repairs the syntax first, and then types that differ from the schema.
func (Careful) Repair(d Damage) ([]byte, []string, bool) {
	text, repairs := d.Text, []string(nil)
	if d.Stage == toolspec.HydrationParse {
		text, repairs = mendSyntax(text)
		if check(text) != nil {
			return nil, nil, false
		}
	}
	value := decoded(text)
	if len(d.Schema) > 0 {
		m := typeFixer{done: map[string]bool{}}
		value = m.value(value, jsonschema.Outline(d.Schema).Target())
		repairs = append(repairs, slices.Sorted(maps.Keys(m.done))...)
	}
	if len(repairs) == 0 {
		return nil, nil, false
	}
	mended, err := strictjson.Encode(value)
	return mended, repairs, err == nil
}

// mendSyntax repairs the text outside of strings, in one pass.
func mendSyntax(text []byte) ([]byte, []string) {
	done := map[string]bool{}
	text = unfenced(trim(text), done)
	var b bytes.Buffer
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'':
			end := closing(text, i)
			if end < 0 {
				return text, nil
			}
			if c == '"' {
				b.Write(text[i : end+1])
			} else {
				done[RepairQuotes] = true
				if !writeQuoted(&b, text[i+1:end]) {
					return text, nil
				}
			}
			i = end + 1
		case c == ',' && bytes.ContainsAny(nextSolid(text, i+1), "}]"):
			done[RepairComma] = true
			i++
		case c == '_' || c == '$' || c|0x20 >= 'a' && c|0x20 <= 'z':
			end := i + len(word(text[i:]))
			writeWord(&b, string(text[i:end]), bytes.Equal(nextSolid(text, end), []byte(":")), done)
			i = end
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.Bytes(), slices.Sorted(maps.Keys(done))
}

func writeWord(b *bytes.Buffer, w string, isKey bool, done map[string]bool) {
	words := map[string]string{"True": "true", "False": "false", "None": "null"}
	switch {
	case isKey:
		done[RepairKey] = true
		b.WriteString(`"` + w + `"`)
	case words[w] != "":
		done[RepairWord] = true
		b.WriteString(words[w])
	default:
		b.WriteString(w)
	}
}

// word returns the name at the start of text.
func word(text []byte) []byte {
	end := bytes.IndexFunc(text, func(r rune) bool {
		return r != '_' && r != '$' && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z')
	})
	if end < 0 {
		return text
	}
	return text[:end]
}

// nextSolid returns the first byte from i on that is not white space.
func nextSolid(text []byte, i int) []byte {
	for ; i < len(text); i++ {
		if !strings.ContainsRune(" \t\r\n", rune(text[i])) {
			return text[i : i+1]
		}
	}
	return nil
}

// unfenced removes a Markdown code fence around the whole text.
func unfenced(text []byte, done map[string]bool) []byte {
	inside, opened := bytes.CutPrefix(text, []byte("```"))
	inside, closed := bytes.CutSuffix(inside, []byte("```"))
	if !opened || !closed {
		return text
	}
	done[RepairFence] = true
	return trim(bytes.TrimPrefix(bytes.TrimPrefix(inside, []byte("json")), []byte("JSON")))
}

// typeFixer converts values whose type differs from the schema.
type typeFixer struct{ done map[string]bool }

func (m typeFixer) value(v any, n *jsonschema.Node) any {
	switch is := v.(type) {
	case map[string]any:
		for name, child := range is {
			is[name] = m.value(child, n.Member(name))
		}
	case []any:
		for i, child := range is {
			is[i] = m.value(child, n.Element(i))
		}
	case string:
		return m.text(is, n)
	case json.Number:
		// 1.10 and 1.1 are equal numbers with equal digests, but different texts, so only integers
		// become text.
		if wants(n, v, "string") && is != "-0" && strictjson.PlainInteger([]byte(is)) {
			m.done[RepairToText] = true
			return is.String()
		}
	}
	return v
}

func (m typeFixer) text(s string, n *jsonschema.Node) any {
	switch {
	case wants(n, s, "number", "integer") && isNumber(s):
		m.done[RepairToNumber] = true
		return json.Number(s)
	case wants(n, s, "boolean") && (s == "true" || s == "false"):
		m.done[RepairToBool] = true
		return s == "true"
	case wants(n, s, "array", "object") && check([]byte(s)) == nil:
		inner := decoded([]byte(s))
		if t := typeOf(inner); (t == "array" || t == "object") && slices.Contains(n.Types(), t) {
			m.done[RepairUnwrap] = true
			return inner
		}
	}
	return s
}

// isNumber reports whether s is a JSON number that float64 holds exactly.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s)) && strictjson.ExactNumber(s)
}

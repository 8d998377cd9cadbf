package truncate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// MaxShort bounds a shortened value, in bytes of JSON. An answer to a model has the same bound, so
// a model reads the same short form as the result has.
const MaxShort = 32 << 10

// Names of the tools that read stored outputs.
const (
	readTool = "core__tool_output_cache"
	grepTool = "core__tool_output_cache_grep"
)

// Value is a value that may have to be shortened.
type Value struct {
	JSON json.RawMessage
	Kind toolspec.ValueKind
	// Contents are the declarations of the tool. They count before Most.
	Contents []toolspec.Truncation
	// Most bounds the value, in bytes of JSON.
	Most int
	// Bytes is the size of the stored value, if it differs from the size of JSON.
	Bytes int
}

// Exceeds reports whether the value has more bytes than it may have, or a part of it more than its
// content may have.
func (v Value) Exceeds() bool {
	if len(v.JSON) > v.Most {
		return true
	}
	_, exceeds := v.cutContents("")
	return exceeds
}

// Short returns the short form of a value that exceeds its limits, in at most MaxShort bytes. ref names
// the whole value; it may be empty if nobody can read it.
//
//   - A declared content is shortened as package toolspec says: a text ends, or for the output of a
//     shell begins, with "... [truncated]"; a list becomes an object with the members preview and count.
//   - A text is shortened to its beginning.
//   - Parts lose the data of the largest parts, and then the ends of texts.
//   - Any other value becomes an object with the members preview, count and bytes.
//
// Texts are cut between lines, or else between characters. Each form says how the rest can be read.
func (v Value) Short(ref string) json.RawMessage {
	if short, cut := v.cutContents(ref); cut && len(short) <= MaxShort {
		return short
	}
	switch v.Kind {
	case toolspec.KindText:
		var text string
		if json.Unmarshal(v.JSON, &text) == nil {
			return fit(func(room int) any { return Text(text, room, false, ref) })
		}
	case toolspec.KindParts:
		var parts toolspec.Parts
		if json.Unmarshal(v.JSON, &parts) == nil {
			return fit(func(room int) any { return shortParts(parts, room, ref) })
		}
	case toolspec.KindJSON:
	}
	return fit(func(room int) any {
		p := preview{Bytes: cmp.Or(v.Bytes, len(v.JSON)), Truncated: true, OutputRef: ref, More: more(ref)}
		p.Preview, p.Count = beginning(v.JSON, room)
		return p
	})
}

// fit returns a form of at most MaxShort bytes. Escapes make a form larger than its room.
func fit(form func(room int) any) json.RawMessage {
	for room := MaxShort * 3 / 4; ; room /= 2 {
		if text, err := strictjson.Encode(form(room)); err == nil && len(text) <= MaxShort || room == 0 {
			return text
		}
	}
}

// preview is the short form of a value that is neither a text nor a list of parts, and of a list that the
// tool declares.
type preview struct {
	Preview any `json:"preview,omitempty"`
	// Count is the number of elements of a list, of members of an object, or of characters of a text.
	Count *int `json:"count,omitempty"`
	Bytes int  `json:"bytes,omitempty"`
	// Truncated is true.
	Truncated bool   `json:"truncated"`
	OutputRef string `json:"outputRef,omitempty"`
	More      string `json:"more,omitempty"`
}

// more says how the rest of a value can be read.
func more(ref string) string {
	if ref == "" {
		return "the rest is not stored"
	}
	return fmt.Sprintf("%s and %s read the rest: ref_id %s", readTool, grepTool, ref)
}

// cutContents returns the value with its declared contents shortened. cut says that there were any to
// shorten. With an empty ref the texts of the result name no reference.
func (v Value) cutContents(ref string) (short json.RawMessage, cut bool) {
	short = v.JSON
	for _, t := range v.Contents {
		if changed, ok := cutAt(short, splitPath(t.Path), t.As, ref); ok {
			short, cut = changed, true
		}
	}
	return short, cut
}

// cutAt shortens the content at a path of members.
func cutAt(value json.RawMessage, path []string, as toolspec.Content, ref string) (json.RawMessage, bool) {
	if len(path) == 0 {
		return cutContent(value, as, ref)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil || members[path[0]] == nil {
		return nil, false
	}
	changed, ok := cutAt(members[path[0]], path[1:], as, ref)
	if !ok {
		return nil, false
	}
	members[path[0]] = changed
	text, err := strictjson.Encode(members)
	return text, err == nil
}

func cutContent(value json.RawMessage, as toolspec.Content, ref string) (json.RawMessage, bool) {
	most, shown, isList, tail, _ := as.Limits()
	var form any
	if isList {
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil || len(list) <= most {
			return nil, false
		}
		count := len(list)
		form = preview{Preview: list[:shown], Count: &count, Truncated: true, OutputRef: ref, More: more(ref)}
	} else {
		var text string
		if len(value) <= most || json.Unmarshal(value, &text) != nil || len(text) <= most {
			return nil, false
		}
		form = Text(text, shown, tail, ref)
	}
	short, err := strictjson.Encode(form)
	return short, err == nil
}

// beginning returns the beginning of a value, of about room bytes, and the count of the value.
func beginning(value json.RawMessage, room int) (any, *int) {
	var list []json.RawMessage
	var members map[string]json.RawMessage
	switch {
	case json.Unmarshal(value, &list) == nil:
		shown := []json.RawMessage{}
		for left := room; len(shown) < len(list); {
			element := list[len(shown)]
			if left -= len(element) + 1; left < 0 {
				break
			}
			shown = append(shown, element)
		}
		count := len(list)
		if len(list) > 0 && len(shown) == 0 { // the first element alone is too large
			return Cut(string(value), room), &count
		}
		return shown, &count
	case json.Unmarshal(value, &members) == nil:
		count := len(members)
		return Cut(string(value), room), &count
	}
	var text string
	switch {
	case json.Unmarshal(value, &text) == nil:
		count := utf8.RuneCountInString(text)
		return Cut(text, room), &count
	case len(value) == 0:
		return nil, nil
	}
	return Cut(string(value), room), nil
}

package sanitize

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// These names say what was changed in a value or a text; wire.Answer.Sanitized has them.
const (
	ANSIEscapes         = "ansi_escapes"         // removed
	ControlCharacters   = "control_characters"   // written as \uXXXX
	BidiCharacters      = "bidi_characters"      // written as \uXXXX
	InvisibleCharacters = "invisible_characters" // removed
	RoleMarkers         = "role_markers"         // broken by a backslash
)

// Value returns a JSON value in which no text can pose as something else to a model: its
// texts and names have no terminal escapes, control, bidirectional or invisible characters, and
// no known markers of chat formats. It also returns what it changed, sorted.
// A value without such text is returned as it is, and a second pass changes nothing (RD-07).
func Value(value json.RawMessage) (json.RawMessage, []string) {
	var (
		out     []byte
		changed []string
		copied  int
	)
	for at := 0; at < len(value); at++ {
		if value[at] != '"' {
			continue
		}
		end := stringEnd(value, at)
		if text, ok := unquote(value[at:end]); ok {
			if clean, kinds := Text(text); len(kinds) > 0 {
				quoted, err := strictjson.Encode(clean)
				if err != nil {
					return json.RawMessage(`null`), kinds // no text fails to encode
				}
				out = append(append(out, value[copied:at]...), quoted...)
				copied, changed = end, append(changed, kinds...)
			}
		}
		at = end - 1
	}
	if changed == nil {
		return value, nil
	}
	return append(out, value[copied:]...), MergeKinds(changed, nil)
}

// MergeKinds returns the names of both lists, sorted, each once.
func MergeKinds(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// stringEnd returns the index behind the string literal that begins at start.
func stringEnd(value []byte, start int) int {
	for i := start + 1; i < len(value); i++ {
		switch value[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(value)
}

// unquote returns the text of a string literal of JSON.
func unquote(literal []byte) (text string, ok bool) {
	if n := len(literal); n > 1 && literal[n-1] == '"' && !bytes.ContainsAny(literal, "\\\n\t\r") && isPrintable(literal) {
		return string(literal[1 : n-1]), true
	}
	ok = json.Unmarshal(literal, &text) == nil
	return text, ok
}

// ansi is a control sequence, a string such as a title or a hyperlink with its end, or any other
// escape of ECMA-48.
var ansi = regexp.MustCompile(`(?:\x1b\[|\x{9b})[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|` +
	`(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\x1b\x{9c}\n]*(?:\x07|\x1b\\|\x{9c})|\x1b[\x20-\x2f]*[\x30-\x7e]`)

// escapeStarts are the characters with which ansi begins.
const escapeStarts = "\x1b\u0090\u0098\u009b\u009d\u009e\u009f"

// marker is at the start of a text. Markers separate messages, roles and calls in the formats of chat models. The group that matches
// stays before the backslash. The comments name a format that has the marker.
var marker = regexp.MustCompile(`^(?:(<)(?:[|｜][^\s|｜<>]{1,40}[|｜]?>|｜[^\s|｜<>]{1,40}｜|` + // ChatML, Llama, DeepSeek, Gemma
	`[a-z_]{1,40}\|>|` + // Gemma
	`/?(?:system|system-reminder|assistant|start_of_turn|end_of_turn|think|bos|eos)>|/s>|</?SYS>>|` + // Gemma, Llama, Qwen
	`/?(?:\w{1,20}:)?(?:(?i:function_calls|function_results|tool_calls?|tool_results?|tool_response)|invoke|start_function_call)(?:\s[^<>\n]{0,200})?>)|` + // Claude, MiniMax
	`(\[)(?:/?(?:INST|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|AVAILABLE_TOOLS|SYSTEM_PROMPT|ARGS|THINK)\]|\|[^\s|]{1,40}\|\]|e~\[)|` + // Mistral, EXAONE, MiniMax
	`(\])~!?b[\[\]]|` + // MiniMax
	`(?:\r?\n){2}(Human|Assistant):)`) // Claude

// Text returns a text without what Value takes out, and what it changed.
func Text(text string) (clean string, changed []string) {
	if !isPrintable(text) {
		if strings.ContainsAny(text, escapeStarts) {
			if without := ansi.ReplaceAllString(text, ""); len(without) < len(text) {
				text, changed = without, append(changed, ANSIEscapes)
			}
		}
		var kinds []string
		text, kinds = escapeCharacters(text)
		changed = append(changed, kinds...)
	}
	if broken := breakMarkers(text); len(broken) > len(text) {
		text, changed = broken, append(changed, RoleMarkers)
	}
	return text, changed
}

// isPrintable reports whether a text has only printable ASCII, line breaks and tabs.
func isPrintable[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// escapeCharacters writes characters that control a terminal or the direction of text as \uXXXX
// and leaves out invisible characters. It keeps an invisible character that changes how the character
// before it looks, as in emoji and in some scripts, but not several of them in a row.
func escapeCharacters(text string) (clean string, changed []string) {
	var (
		b      strings.Builder
		before rune // the character before, if it is visible
		found  [3]bool
	)
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			before = 0
		case unicode.IsControl(r), r == 0x2028, r == 0x2029:
			found[0], before = true, '?'
			writeEscape(&b, r)
			continue
		case unicode.Is(unicode.Bidi_Control, r):
			found[1], before = true, '?'
			writeEscape(&b, r)
			continue
		case isJoining(r) && takesJoiner(before):
			before = 0
		case unicode.Is(unicode.Variation_Selector, r) && takesSelector(before, r):
			before = selected // a joiner may follow
		case unicode.Is(unicode.Prepended_Concatenation_Mark, r): // visible, although it is in Cf
			before = r
		case unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			found[2] = true
			continue
		default:
			before = r
		}
		b.WriteRune(r)
	}
	for i, kind := range []string{ControlCharacters, BidiCharacters, InvisibleCharacters} {
		if found[i] {
			changed = append(changed, kind)
		}
	}
	return b.String(), changed
}

// selected stands for a character with a selector.
const selected = '☺'

// isJoining reports whether r is the joiner or the non-joiner of two characters.
func isJoining(r rune) bool { return r == 0x200c || r == 0x200d }

// takesJoiner reports whether a joiner may follow a character: an emoji, or a letter of a script that
// joins letters.
func takesJoiner(before rune) bool {
	return before > 0x7f && !unicode.In(before, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han, unicode.White_Space)
}

// takesSelector reports whether the selector of a variant may follow a character: a symbol, or a
// letter of a script that has variants. The selectors of the supplement select ideographs only.
func takesSelector(before, selector rune) bool {
	switch {
	case before == selected || before == 0:
		return false
	case unicode.Is(unicode.Han, before):
		return true
	case selector >= 0xe0100:
		return false
	case before <= 0x7f:
		return selector == 0xfe0f && strings.ContainsRune("0123456789#*", before)
	}
	return !unicode.IsLetter(before) || unicode.In(before, unicode.Mongolian, unicode.Myanmar, unicode.Phags_Pa)
}

// writeEscape writes a character as JSON would escape it.
func writeEscape(b *strings.Builder, r rune) {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}

// breakMarkers writes a backslash into each marker, also into a marker that begins inside another one, so that no format
// treats it as a marker.
func breakMarkers(text string) string {
	// The expression is slow. It is tried only where a marker can start, and most texts have no such place.
	starts := "<[]"
	if strings.Contains(text, "Human:") || strings.Contains(text, "Assistant:") {
		starts += "\n"
	}
	var b strings.Builder
	copied := 0
	for at := 0; ; {
		next := strings.IndexAny(text[at:], starts)
		if next < 0 {
			break
		}
		at += next
		m := marker.FindStringSubmatchIndex(text[at:])
		if m == nil {
			at++
			continue
		}
		broken := at + max(m[3], m[5], m[7], m[9]) // the end of the group that matched
		b.WriteString(text[copied:broken])
		b.WriteByte('\\')
		copied, at = broken, broken
	}
	if copied == 0 {
		return text
	}
	b.WriteString(text[copied:])
	return b.String()
}

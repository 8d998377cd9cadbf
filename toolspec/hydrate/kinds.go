package hydrate

import (
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// Kinds of faults besides those of package jsonschema.
const (
	KindTooLarge     = "too_large"
	KindUnknownField = "unknown_field"
	KindSecretShaped = "secret_shaped"
	KindInvalidField = "invalid_field"
	KindUndecodable  = "undecodable"
	KindForeignID    = "foreign_workflow_id"
	KindNoSchema     = "no_schema"
	KindUnknownTool  = "unknown_tool"
)

// Kinds of JSON that parsers read differently or not at all. Each is refused with its own kind and
// never altered. Other faults of syntax are invalid_json.
const (
	KindByteOrderMark = "byte_order_mark"
	KindInvalidUTF8   = "invalid_utf8"
	KindLoneSurrogate = "lone_surrogate"
	KindNUL           = "nul_character"
	KindNotFinite     = "not_finite"
	KindRepeatedKey   = "repeated_key"
	KindTrailingText  = "trailing_text"
)

// sentences says for each kind what a model, or its developer, must do.
var sentences = map[string]string{
	KindByteOrderMark: "Invalid JSON: begins with a byte order mark; leave it out",
	KindInvalidUTF8:   "Invalid JSON: holds bytes that are no UTF-8",
	KindLoneSurrogate: "Invalid JSON: holds half of a surrogate pair; write the whole character",
	KindNUL:           "A text holds the character NUL; leave it out",
	KindNotFinite:     "Invalid JSON: NaN and Infinity are no numbers of JSON; send a number, or leave the field out",
	KindRepeatedKey:   "Invalid JSON: repeated object key",
	KindTrailingText:  "Invalid JSON: text behind the value",
}

// codeOf returns the code for a kind: invalid_json if the arguments are not JSON that all parsers
// read in the same way, else validation.
func codeOf(kind string) toolspec.Code {
	switch kind {
	case KindByteOrderMark, KindInvalidUTF8, KindLoneSurrogate, KindNotFinite, KindRepeatedKey, KindTrailingText, string(jsonschema.KindInvalidJSON):
		return toolspec.CodeInvalidJSON
	default:
		return toolspec.CodeValidation
	}
}

package sanitize

import (
	"bytes"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Schema returns a JSON Schema whose descriptions, titles and comments are clean as by Text. Their texts are for
// models, and change nothing that the schema accepts. hidden reports that another text, such as the name of a field,
// is not clean: a change of it would change what the schema means, so it stays, and the caller refuses the schema.
func Schema(doc json.RawMessage) (clean json.RawMessage, hidden bool) {
	var out []byte
	copied, annotation := 0, false
	for at := 0; at < len(doc); at++ {
		switch doc[at] {
		case '"':
		case ' ', '\t', '\r', '\n':
			continue
		default:
			annotation = false // what follows the name is no text
			continue
		}
		end := stringEnd(doc, at)
		text, ok := unquote(doc[at:end])
		if !ok {
			return doc, true
		}
		better, kinds := Text(text)
		rest := bytes.TrimLeft(doc[end:], " \t\r\n")
		isName := len(rest) > 0 && rest[0] == ':'
		switch {
		case len(kinds) == 0:
		case !annotation || isName:
			hidden = true
		default:
			quoted, err := strictjson.Encode(better)
			if err != nil {
				return doc, true
			}
			out = append(append(out, doc[copied:at]...), quoted...)
			copied = end
		}
		annotation = isName && (text == "description" || text == "title" || text == "$comment")
		if at = end - 1; isName {
			at = len(doc) - len(rest) // the colon
		}
	}
	if copied == 0 {
		return doc, hidden
	}
	return append(out, doc[copied:]...), hidden
}

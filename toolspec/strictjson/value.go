package strictjson

import (
	"bytes"
	"encoding/json"
)

// Decode reads one strict JSON value as encoding/json does: objects are
// map[string]any, arrays []any, and numbers json.Number, as they are written.
func Decode(raw []byte) (any, error) {
	t, fault := Read(raw)
	defer t.Release()
	if fault != nil {
		return nil, fault
	}
	return t.Value(0), nil
}

// Value is the value at i.
func (t *Tape) Value(i int) any {
	switch it := t.Items[i]; it.Kind {
	case '{':
		object := make(map[string]any, it.Count)
		for j := i + 1; j < int(it.Next); j = int(t.Items[j+1].Next) {
			object[t.Text(j)] = t.Value(j + 1)
		}
		return object
	case '[':
		list := make([]any, 0, it.Count)
		for j := i + 1; j < int(it.Next); j = int(t.Items[j].Next) {
			list = append(list, t.Value(j))
		}
		return list
	case '"':
		return t.Text(i)
	case '0':
		return json.Number(t.Bytes(i))
	case 'n':
		return nil
	default:
		return it.Kind == 't'
	}
}

// Encode returns a value as JSON, without a line end. It sorts the keys of maps, and does not escape <, > and &, because models read the text.
func Encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

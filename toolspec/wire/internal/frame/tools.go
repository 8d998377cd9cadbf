package frame

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// Tools writes the list of tools of a request, or nothing for none: before each
// name stands open, behind it the description where there is one and the schema
// as the member that schema names, and then what end answers.
func Tools(tools []wire.Tool, open, schema string, end func(wire.Tool) string) (json.RawMessage, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	if err := wire.CheckTools(tools); err != nil {
		return nil, err
	}
	out := []byte{'['}
	for i, t := range tools {
		if i > 0 {
			out = append(out, ',')
		}
		out = Quote(append(out, open...), t.Name)
		if t.Description != "" {
			out = Quote(append(out, `,"description":`...), t.Description)
		}
		out = append(Quote(append(out, ','), schema), ':')
		out = append(append(out, t.Schema...), end(t)...)
	}
	return append(out, ']'), nil
}

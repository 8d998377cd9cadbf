package frame

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// Tools returns the list of tools of a request, or nil if there are no tools. Each tool is written as
// open, the name, the description if there is one, the tool's schema in a member with the name schema,
// and the text that end returns.
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

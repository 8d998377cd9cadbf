package frame

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// Choice returns the members tool_choice and, for a serial choice, parallel_tool_calls, as the two
// formats of OpenAI have them. The formats differ in the text around the name of a tool: open is the
// text before the name, and end the text after it.
func Choice(choice wire.Choice, open, end string) ([]wire.Member, error) {
	if err := choice.Check(); err != nil {
		return nil, err
	}
	var value json.RawMessage
	switch choice.Mode {
	case wire.Named:
		value = append(Quote([]byte(open), choice.Name), end...)
	case "", wire.Auto:
		value = json.RawMessage(`"auto"`)
	default: // none, required
		value = Quote(nil, string(choice.Mode))
	}
	members := []wire.Member{{Name: "tool_choice", Value: value}}
	if choice.Serial && choice.Mode != wire.None {
		members = append(members, wire.Member{Name: "parallel_tool_calls", Value: json.RawMessage(`false`)})
	}
	return members, nil
}

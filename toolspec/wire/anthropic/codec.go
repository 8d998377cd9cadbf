package anthropic

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Format is the name of the format.
const Format = "anthropic"

// Codec is the format. Its zero value is ready.
type Codec struct{}

var _ wire.Codec = Codec{}

// Format returns "anthropic".
func (Codec) Format() string { return Format }

// Tools returns objects {"name","description","input_schema"}, with "strict":true for a strict tool.
func (Codec) Tools(tools []wire.Tool) (json.RawMessage, error) {
	return frame.Tools(tools, `{"name":`, "input_schema", func(t wire.Tool) string {
		if t.Strict {
			return `,"strict":true}`
		}
		return `}`
	})
}

// Choice returns tool_choice. For a serial choice, it contains disable_parallel_tool_use.
func (Codec) Choice(choice wire.Choice) ([]wire.Member, error) {
	if err := choice.Check(); err != nil {
		return nil, err
	}
	var value []byte
	switch choice.Mode {
	case wire.None:
		value = []byte(`{"type":"none"`)
	case wire.Required:
		value = []byte(`{"type":"any"`)
	case wire.Named:
		value = frame.Quote([]byte(`{"type":"tool","name":`), choice.Name)
	default:
		value = []byte(`{"type":"auto"`)
	}
	if choice.Serial && choice.Mode != wire.None {
		value = append(value, `,"disable_parallel_tool_use":true`...)
	}
	return []wire.Member{{Name: "tool_choice", Value: append(value, '}')}}, nil
}

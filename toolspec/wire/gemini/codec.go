package gemini

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Format is the name of the format.
const Format = "gemini"

// Codec is the format. Its zero value is ready.
type Codec struct{}

var _ wire.Codec = Codec{}

// Format returns "gemini".
func (Codec) Format() string { return Format }

// Tools returns one tool with functionDeclarations: objects {"name","description",
// "parametersJsonSchema"}. It does not use the member parameters, because its schemas have another
// dialect. The format has no strict form. A name must begin with a letter or an underscore.
func (Codec) Tools(tools []wire.Tool) (json.RawMessage, error) {
	for _, t := range tools {
		if c := t.Name[:min(1, len(t.Name))]; c == "-" || c >= "0" && c <= "9" {
			return nil, fmt.Errorf("gemini: %s: a name must begin with a letter or an underscore", t.Name)
		}
	}
	list, err := frame.Tools(tools, `{"name":`, "parametersJsonSchema", func(wire.Tool) string { return `}` })
	if list == nil {
		return nil, err
	}
	return append(append([]byte(`[{"functionDeclarations":`), list...), `}]`...), nil
}

// Choice returns toolConfig. For a named tool, it has the mode ANY and allows only that tool. The format
// cannot limit a response to one call.
func (Codec) Choice(choice wire.Choice) ([]wire.Member, error) {
	if err := choice.Check(); err != nil {
		return nil, err
	}
	config := []byte(`{"functionCallingConfig":{"mode":`)
	switch choice.Mode {
	case wire.None:
		config = append(config, `"NONE"`...)
	case wire.Required:
		config = append(config, `"ANY"`...)
	case wire.Named:
		config = append(frame.Quote(append(config, `"ANY","allowedFunctionNames":[`...), choice.Name), ']')
	default:
		config = append(config, `"AUTO"`...)
	}
	return []wire.Member{{Name: "toolConfig", Value: append(config, `}}`...)}}, nil
}

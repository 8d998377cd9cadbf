package openai

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Format is the name of the format.
const Format = "openai"

// Codec is the format. Its zero value is ready.
type Codec struct{}

var _ wire.Codec = Codec{}

// Format returns "openai".
func (Codec) Format() string { return Format }

// Tools returns objects {"type":"function","function":{"name","description","parameters"}}, with
// "strict":true for a strict tool.
func (Codec) Tools(tools []wire.Tool) (json.RawMessage, error) {
	return frame.Tools(tools, `{"type":"function","function":{"name":`, "parameters", func(t wire.Tool) string {
		if t.Strict {
			return `,"strict":true}}`
		}
		return `}}`
	})
}

// Choice returns tool_choice, and parallel_tool_calls for a serial choice.
func (Codec) Choice(choice wire.Choice) ([]wire.Member, error) {
	return frame.Choice(choice, `{"type":"function","function":{"name":`, `}}`)
}

// Answers returns messages of the role tool. The format has no member for an error or a reference, so
// the text contains them: see [wire.Answer.Text]. The content of an answer with parts is an array of
// texts. A text describes every part that is not text.
func (Codec) Answers(answers []wire.Answer) ([]json.RawMessage, error) {
	messages := make([]json.RawMessage, 0, len(answers))
	for _, a := range answers {
		text, err := a.Text(false)
		if err != nil {
			return nil, err
		}
		m := frame.Quote([]byte(`{"role":"tool","tool_call_id":`), frame.CallID(a.CallID, a.Index))
		m = append(m, `,"content":`...)
		if len(a.Parts) == 0 {
			m = frame.Quote(m, text)
		} else {
			m = appendText(append(m, '['), text)
			for _, p := range a.Parts {
				m = appendText(append(m, ','), p.Words())
			}
			m = append(m, ']')
		}
		messages = append(messages, append(m, '}'))
	}
	return messages, nil
}

func appendText(dst []byte, text string) []byte {
	return append(frame.Quote(append(dst, `{"type":"text","text":`...), text), '}')
}

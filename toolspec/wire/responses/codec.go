package responses

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// Format is the name of the format.
const Format = "responses"

// Codec is the format. Its zero value is ready.
type Codec struct{}

var _ wire.Codec = Codec{}

// Format returns "responses".
func (Codec) Format() string { return Format }

// Tools returns objects {"type":"function","name","description","parameters","strict"}. strict is
// always written, because the provider assumes true without it.
func (Codec) Tools(tools []wire.Tool) (json.RawMessage, error) {
	return frame.Tools(tools, `{"type":"function","name":`, "parameters", func(t wire.Tool) string {
		return `,"strict":` + strconv.FormatBool(t.Strict) + `}`
	})
}

// Choice returns tool_choice, and parallel_tool_calls for a serial choice.
func (Codec) Choice(choice wire.Choice) ([]wire.Member, error) {
	return frame.Choice(choice, `{"type":"function","name":`, `}`)
}

// Answers returns items of the type function_call_output. The format has no member for an error or a
// reference, so the text contains them: see [wire.Answer.Text]. The output of an answer with parts is
// an array of texts, images and PDF files. A text describes every other part.
func (Codec) Answers(answers []wire.Answer) ([]json.RawMessage, error) {
	items := make([]json.RawMessage, 0, len(answers))
	for _, a := range answers {
		text, err := a.Text(false)
		if err != nil {
			return nil, err
		}
		m := frame.Quote([]byte(`{"type":"function_call_output","call_id":`), frame.CallID(a.CallID, a.Index))
		m = append(m, `,"output":`...)
		if len(a.Parts) == 0 {
			m = frame.Quote(m, text)
		} else {
			m = appendText(append(m, '['), text)
			for _, p := range a.Parts {
				m = appendPart(append(m, ','), p)
			}
			m = append(m, ']')
		}
		items = append(items, append(m, '}'))
	}
	return items, nil
}

func appendText(dst []byte, text string) []byte {
	return append(frame.Quote(append(dst, `{"type":"input_text","text":`...), text), '}')
}

func appendPart(dst []byte, p wire.Part) []byte {
	switch p.MediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		dst = append(dst, `{"type":"input_image","image_url":`...)
		return append(frame.Quote(dst, dataURL(p)), '}')
	case "application/pdf":
		// The format requires a name for each file.
		dst = frame.Quote(append(dst, `{"type":"input_file","filename":`...), cmp.Or(p.Name, "document.pdf"))
		return append(frame.Quote(append(dst, `,"file_data":`...), dataURL(p)), '}')
	default:
		return appendText(dst, p.Words())
	}
}

func dataURL(p wire.Part) string { return "data:" + p.MediaType + ";base64," + p.Data }

package wiretest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"
)

// The parts of the results in client/turn/testdata/parts.
const (
	partImage    = "\x89PNG\r\n\x1a\n"
	partDocument = "%PDF-"
)

// partTexts are in every format, in this order: texts, and words for what no format carries.
var partTexts = []string{"Look, é:", "chart.svg", "audio/wav", "# Title\n", "out_9", "https://example.com/a?b=c", "Error executing tool: {}"}

// TestParts lets each provider's own type read a result with every type of part (RF-12). What a format
// does not carry is named in a text.
func TestParts(t *testing.T) {
	read := func(format string) []byte {
		text, err := os.ReadFile(filepath.Join("..", "..", "client", "turn", "testdata", "parts", format+".json"))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	data := func(text string) string {
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Error(err)
		}
		return string(decoded)
	}
	check := func(t *testing.T, texts, images, documents []string, carriesImage, carriesDocument bool) {
		all := strings.Join(texts, "\n")
		at := 0
		for _, want := range partTexts {
			i := strings.Index(all[at:], want)
			if i < 0 {
				t.Fatalf("%q is not in its place in %q", want, all)
			}
			at += i
		}
		for what, tc := range map[string]struct {
			carries bool
			got     []string
			data    string
			name    string
		}{"image": {carriesImage, images, partImage, "chart.png"}, "document": {carriesDocument, documents, partDocument, "report.pdf"}} {
			if tc.carries && !slices.Equal(tc.got, []string{tc.data}) || !tc.carries && (len(tc.got) > 0 || !strings.Contains(all, tc.name)) {
				t.Errorf("the %s is %q beside %q", what, tc.got, all)
			}
		}
	}

	t.Run("openai", func(t *testing.T) {
		m := readAs[openai.ChatCompletionMessageParamUnion](t, "message", read("openai"))
		var texts []string
		for _, part := range m.OfTool.Content.OfArrayOfContentParts {
			texts = append(texts, part.Text)
		}
		check(t, texts, nil, nil, false, false)
	})
	t.Run("responses", func(t *testing.T) {
		m := readAs[responses.ResponseInputItemUnionParam](t, "item", read("responses"))
		var texts, images, documents []string
		for _, item := range m.OfFunctionCallOutput.Output.OfResponseFunctionCallOutputItemArray {
			switch {
			case item.OfInputText != nil:
				texts = append(texts, item.OfInputText.Text)
			case item.OfInputImage != nil:
				images = append(images, data(strings.TrimPrefix(item.OfInputImage.ImageURL.Value, "data:image/png;base64,")))
			case item.OfInputFile != nil:
				if item.OfInputFile.Filename.Value != "report.pdf" {
					t.Errorf("the file is named %q", item.OfInputFile.Filename.Value)
				}
				documents = append(documents, data(strings.TrimPrefix(item.OfInputFile.FileData.Value, "data:application/pdf;base64,")))
			}
		}
		check(t, texts, images, documents, true, true)
	})
	t.Run("anthropic", func(t *testing.T) {
		m := readAs[anthropic.MessageParam](t, "message", read("anthropic"))
		var texts, images, documents []string
		for _, block := range m.Content[0].OfToolResult.Content {
			switch {
			case block.OfText != nil:
				texts = append(texts, block.OfText.Text)
			case block.OfImage != nil:
				images = append(images, data(block.OfImage.Source.OfBase64.Data))
			case block.OfDocument != nil:
				if block.OfDocument.Title.Value != "report.pdf" {
					t.Errorf("the document is named %q", block.OfDocument.Title.Value)
				}
				documents = append(documents, data(block.OfDocument.Source.OfBase64.Data))
			}
		}
		check(t, texts, images, documents, true, true)
	})
	t.Run("ollama", func(t *testing.T) {
		m := readAs[api.Message](t, "message", read("ollama"))
		var images []string
		for _, image := range m.Images {
			images = append(images, string(image))
		}
		check(t, []string{m.Content}, images, nil, true, false)
	})
	t.Run("gemini", func(t *testing.T) {
		m := readAs[genai.Content](t, "content", read("gemini"))
		response := m.Parts[0].FunctionResponse
		var output struct {
			Output struct {
				Content string   `json:"content"`
				Parts   []string `json:"parts"`
			} `json:"output"`
		}
		var raw bytes.Buffer
		if err := json.NewEncoder(&raw).Encode(response.Response); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw.Bytes(), &output); err != nil {
			t.Fatal(err)
		}
		var images, documents []string
		for _, part := range response.Parts {
			if part.InlineData.MIMEType == "image/png" {
				images = append(images, string(part.InlineData.Data))
			} else {
				documents = append(documents, string(part.InlineData.Data))
			}
		}
		check(t, append([]string{output.Output.Content}, output.Output.Parts...), images, documents, true, true)
	})
}

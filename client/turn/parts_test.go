package turn

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/sanitize"
	"github.com/pawl-run/pawl/toolspec/truncate"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

const inv = "inv_0123456789abcdefghijklmnopqrstuvwxyz"

func partsResult(t *testing.T, parts ...toolspec.Part) toolspec.Result {
	t.Helper()
	value, err := json.Marshal(toolspec.Parts(parts))
	if err != nil {
		t.Fatal(err)
	}
	return toolspec.Result{OK: true, InvocationID: inv, Value: value, Kind: toolspec.KindParts}
}

// everyPart has each type of part, and each way to have its data.
var everyPart = []toolspec.Part{
	{Type: toolspec.PartText, Text: "Look, \u00e9:"},
	{Type: toolspec.PartImage, MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n"), Name: "chart.png"},
	{Type: toolspec.PartImage, MediaType: "image/svg+xml", Data: []byte("<svg/>"), Name: "chart.svg"},
	{Type: toolspec.PartAudio, MediaType: "audio/wav", Data: []byte("RIFF"), Name: "call.wav"},
	{Type: toolspec.PartDocument, MediaType: "application/pdf", Data: []byte("%PDF-"), Name: "report.pdf"},
	{Type: toolspec.PartDocument, MediaType: "text/markdown; charset=utf-8", Data: []byte("# Title\n"), Name: "notes.md"},
	{Type: toolspec.PartDocument, MediaType: "application/zip", OutputRef: "out_9", Name: "all.zip"},
	{Type: toolspec.PartResourceLink, URI: "https://example.com/a?b=c", Name: "the report", MediaType: "text/html"},
	{Type: toolspec.PartText, Text: toolspec.ErrorPrefix + "{}"},
}

// TestPartsInEveryFormat writes each type of part in each format (RF-12). internal/wiretest lets the
// clients of the providers read the same files.
func TestPartsInEveryFormat(t *testing.T) {
	t.Parallel()
	for _, codec := range []wire.Codec{openai.Codec{}, responses.Codec{}, anthropic.Codec{}, ollama.Codec{}, gemini.Codec{}} {
		a, err := formAnswer(t.Context(), nil, "acme", Outcome{Call: wire.Call{ID: "call_1", Name: "acme__draw"}, Result: partsResult(t, everyPart...)}, new(maxAllMedia))
		if err != nil {
			t.Fatal(err)
		}
		messages, err := codec.Answers([]wire.Answer{a})
		if err != nil || len(messages) != 1 {
			t.Fatalf("%s: %d messages, %v", codec.Format(), len(messages), err)
		}
		var got bytes.Buffer
		if err := json.Indent(&got, messages[0], "", "  "); err != nil {
			t.Fatal(err)
		}
		got.WriteByte('\n')
		path := filepath.Join("testdata", "parts", codec.Format()+".json")
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: got %s, %v", codec.Format(), got.Bytes(), err)
		}
		// Nothing is dropped in silence: each name that is no name of an image is there.
		for _, name := range []string{"chart.svg", "call.wav", "report.pdf", "notes.md", "# Title", "all.zip", "out_9", "the report", "https://example.com/a?b=c"} {
			if !strings.Contains(got.String(), name) && !(name == "report.pdf" && codec.Format() == "gemini") {
				t.Errorf("%s says nothing of %s", codec.Format(), name)
			}
		}
	}
}

// TestPartsOfOtherValues shows what a model reads of parts that are long, sanitized, without their data
// or none at all.
func TestPartsOfOtherValues(t *testing.T) {
	t.Parallel()
	image := func(n int) toolspec.Part {
		return toolspec.Part{Type: toolspec.PartImage, MediaType: "image/png", Data: make([]byte, n), Name: "a.png"}
	}
	text := func(s string) toolspec.Part { return toolspec.Part{Type: toolspec.PartText, Text: s} }
	form := func(c *client.Client, r toolspec.Result) wire.Answer {
		a, err := formAnswer(t.Context(), c, "acme", Outcome{Result: r}, new(maxAllMedia))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	ref := toolspec.ResultRef(inv)

	a := form(nil, partsResult(t, image(3), text(toolspec.ErrorPrefix)))
	if string(a.Content) != `"The result has 2 parts."` || len(a.Parts) != 2 || a.OutputRef != "" {
		t.Errorf("without a text before: %+v", a)
	}
	a = form(nil, partsResult(t, text("a\x1b[0m"), toolspec.Part{Type: toolspec.PartDocument, MediaType: "text/plain", Data: []byte("<|im_start|>\u202e")}))
	if string(a.Content) != `"a"` || !strings.Contains(a.Parts[0].Data, `<\|im_start|>`) || !sameSet(a.Sanitized, []string{sanitize.ANSIEscapes, sanitize.BidiCharacters, sanitize.RoleMarkers}) {
		t.Errorf("sanitized: %+v", a)
	}
	a = form(nil, partsResult(t, text(strings.Repeat("é", 10<<10)), text(strings.Repeat("x", 20<<10)), text("end")))
	shown := len(a.Content) - 2 + len(a.Parts[0].Data) + len(a.Parts[1].Data)
	if a.OutputRef != ref || shown < MaxAnswer || shown > MaxAnswer+1024 || !strings.Contains(a.Parts[0].Data, truncate.Marker) {
		t.Errorf("long texts: %d bytes are shown, %q", shown, a.OutputRef)
	}
	// What is no list of parts is JSON.
	for _, value := range []string{`[]`, `null`, `[{"text":"a"}]`, `[{"type":"image","mediaType":"","data":"AAAA"}]`, `{"preview":[]}`} {
		if a := form(nil, toolspec.Result{OK: true, Kind: toolspec.KindParts, Value: json.RawMessage(value)}); string(a.Content) != value || a.Parts != nil {
			t.Errorf("of %s: %+v", value, a)
		}
	}

	// A large image is in the store. The result has its size.
	whole := partsResult(t, text("see"), image(200<<10))
	short := truncate.Value{JSON: whole.Value, Kind: toolspec.KindParts, Most: toolspec.MaxInline}
	r := whole.WithOutput(short.Short("out_1"), toolspec.OutputInfo{Kind: toolspec.KindParts, Truncated: true, OutputRef: "out_1"})
	a = form(client.New(nil, client.Options{Outputs: stored{"out_1": string(whole.Value)}}), r)
	if string(a.Content) != `"see"` || len(a.Parts) != 1 || a.Parts[0].MediaType != "image/png" || len(a.Parts[0].Data) < 200<<10 || a.OutputRef != "" {
		t.Errorf("of a stored image: %.200s, %d parts", a.Content, len(a.Parts))
	}
	a = form(client.New(nil, client.Options{}), r)
	if len(a.Parts) != 2 || a.Parts[0].Data != `[image "a.png" of type image/png, 204800 bytes, is not shown]` || !strings.HasPrefix(a.Parts[1].Data, truncate.Marker) || a.OutputRef != "out_1" {
		t.Errorf("without a reader of outputs: %+v", a.Parts)
	}
	// More data than an answer may have.
	large := partsResult(t, text("see"), image(3<<20), image(3))
	a = form(nil, large)
	if len(a.Parts) != 2 || a.Parts[1].Data != `[image "a.png" of type image/png, 3 bytes, is too large to be shown: it is at /2/data of the stored value]` || a.OutputRef != ref {
		t.Errorf("beyond MaxMedia: %.200v", a.Parts[1:])
	}
}

// TestMediaOfManyAnswers: the answers to one response have a bounded amount of images together. A text in another encoding counts as text.
func TestMediaOfManyAnswers(t *testing.T) {
	t.Parallel()
	image := partsResult(t, toolspec.Part{Type: toolspec.PartImage, MediaType: "image/png", Data: make([]byte, 2<<20)})
	outcomes := make([]Outcome, 9)
	for i := range outcomes {
		outcomes[i].Result = image
	}
	latin1 := toolspec.Part{Type: toolspec.PartDocument, MediaType: "text/plain", Data: bytes.Repeat([]byte("caf\xe9 "), 100<<10)}
	outcomes[8].Result = partsResult(t, latin1)
	answers, err := formAnswers(t.Context(), nil, "acme", outcomes)
	if err != nil {
		t.Fatal(err)
	}
	images, held := 0, 0
	for i, a := range answers {
		for _, part := range a.Parts {
			held += len(part.Data)
			if part.MediaType == "image/png" {
				images++
			} else if i < 8 && (a.OutputRef != toolspec.ResultRef(inv) || !strings.Contains(part.Data, "too large to be shown")) {
				t.Errorf("answer %d says %q, with the reference %q", i, part.Data, a.OutputRef)
			}
		}
	}
	if images != 2 || held > maxAllMedia+MaxAnswer+4<<10 {
		t.Errorf("%d images, and %d bytes", images, held)
	}
	if text := answers[8].Parts[0].Data; !strings.Contains(text, "caf\uFFFD caf") || answers[8].OutputRef == "" {
		t.Errorf("a text that is not UTF-8: %.80q", text)
	}
}

// TestLongTextKind shows that a text of the kind text is cut as a text.
func TestLongTextKind(t *testing.T) {
	t.Parallel()
	value, err := json.Marshal(strings.Repeat("line é\n", 6<<10))
	if err != nil {
		t.Fatal(err)
	}
	a, err := formAnswer(t.Context(), nil, "acme", Outcome{Result: toolspec.Result{OK: true, InvocationID: inv, Kind: toolspec.KindText, Value: value}}, new(maxAllMedia))
	var text string
	if err != nil || json.Unmarshal(a.Content, &text) != nil || len(a.Content) > MaxAnswer || a.OutputRef != toolspec.ResultRef(inv) {
		t.Fatalf("%.100s, %v", a.Content, err)
	}
	shown, marked, ok := strings.Cut(text, truncate.Marker)
	if !ok || !strings.HasSuffix(shown, "line é\n") || !strings.Contains(marked, toolspec.ResultRef(inv)) {
		t.Errorf("it ends with %q", text[len(text)-200:])
	}
}

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

const (
	// searching is a schema that a strict form can say all of.
	searching = `{"type":"object","additionalProperties":false,"required":["query"],"properties":{` +
		`"query":{"type":"string"},"limit":{"type":"integer"},"after":{"type":["string","null"]}}}`
	// labelling is one that it cannot: names of the caller's own.
	labelling = `{"type":"object","additionalProperties":false,"properties":{"labels":{"type":"object","additionalProperties":{"type":"string"}}}}`
)

func offeredTool(id, inputSchema string) toolspec.Spec {
	return toolspec.Spec{
		Name: id, Description: "A tool of a test.", InputSchema: json.RawMessage(inputSchema), Effect: toolspec.ReadOnly,
		Digest: "d-" + id, SchemaHash: "h-" + id,
	}
}

// TestOffer (RG-09, RG-26): a request offers each tool, in its format's words, and what is kept says what each name stood for.
func TestOffer(t *testing.T) {
	t.Parallel()
	long := "mcp__server__" + strings.Repeat("a", 60)
	specs := []toolspec.Spec{offeredTool("test__search", searching), offeredTool("test__label", labelling), offeredTool(long, `{"type":"object"}`)}
	for _, codec := range []wire.Codec{openai.Codec{}, responses.Codec{}, anthropic.Codec{}, ollama.Codec{}, gemini.Codec{}} {
		for _, strict := range []bool{false, true} {
			offer, err := client.NewOffer(codec, specs, strict)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := json.Marshal(offer)
			if err != nil {
				t.Fatal(err)
			}
			again, err := client.ReadOffer(kept)
			if err != nil || again.Format != codec.Format() {
				t.Fatalf("%s is read as %+v, %v", kept, again, err)
			}
			for _, s := range specs {
				name := wire.SentName(s.Name)
				tool, err := again.Names.Resolve(name)
				if err != nil || tool.ToolID != s.Name || tool.ToolDigest != s.Digest || tool.SchemaHash != s.SchemaHash || tool.Effect != toolspec.ReadOnly || len(name) > 64 {
					t.Errorf("%s: %s stands for %+v, %v", codec.Format(), name, tool, err)
				}
				if !strings.Contains(string(offer.Tools), `"`+name+`"`) {
					t.Errorf("%s: %s is not in %s", codec.Format(), name, offer.Tools)
				}
				knows := codec.Format() == "openai" || codec.Format() == "responses" || codec.Format() == "anthropic"
				if tool.Strict != (strict && knows && s.Name == "test__search") {
					t.Errorf("%s: %s is strict: %t", codec.Format(), s.Name, tool.Strict)
				}
			}
		}
	}
	if o, err := client.NewOffer(openai.Codec{}, append(specs, specs[0]), false); err == nil {
		t.Errorf("a tool is offered twice: %s", o.Tools)
	}
	for _, none := range []string{``, `[]`, `{}`, `{"format":"openai"}`, `{"format":"openai","names":{"v":2}}`} {
		if o, err := client.ReadOffer([]byte(none)); err == nil {
			t.Errorf("%s is read as %+v", none, o)
		}
	}
}

// TestOfferOfAStrictTool: a tool whose own definition asks for strict is offered so without the option, and no other is for it.
func TestOfferOfAStrictTool(t *testing.T) {
	t.Parallel()
	own, labels := offeredTool("test__search", searching), offeredTool("test__label", labelling)
	own.Strict, labels.Strict = true, true
	specs := []toolspec.Spec{own, labels, offeredTool("test__other", searching)}
	for _, codec := range []wire.Codec{openai.Codec{}, responses.Codec{}, anthropic.Codec{}, ollama.Codec{}, gemini.Codec{}} {
		offer, err := client.NewOffer(codec, specs, false)
		if err != nil {
			t.Fatal(err)
		}
		knows := codec.Format() == "openai" || codec.Format() == "responses" || codec.Format() == "anthropic"
		for i, strict := range []bool{knows, false, false} {
			if tool := offer.Names.Tools[i]; tool.Strict != strict || strict && codec.Format() != "anthropic" && len(tool.Mapping) == 0 {
				t.Errorf("%s: %s is strict: %t, want %t", codec.Format(), tool.ToolID, tool.Strict, strict)
			}
		}
		if listed := len(offer.Changed) > 0 && offer.Changed[0].ToolID == "test__label" && offer.Changed[0].NotStrict; listed != knows {
			t.Errorf("%s: told is %+v", codec.Format(), offer.Changed)
		}
	}
}

// TestOfferSaysWhatItCannotSay: a tool whose strict form would keep valid calls from being made is offered without strict, and one that no
// request can offer is left out; both are told.
func TestOfferSaysWhatItCannotSay(t *testing.T) {
	t.Parallel()
	offer, err := client.NewOffer(openai.Codec{}, []toolspec.Spec{
		offeredTool("test__label", labelling), offeredTool("test__broken", `{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`), offeredTool("test__search", searching),
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]client.Changed{}
	for _, c := range offer.Changed {
		listed[c.ToolID] = c
	}
	if !listed["test__label"].NotStrict || listed["test__broken"].LeftOut == "" || listed["test__search"].NotStrict || len(offer.Names.Tools) != 2 {
		t.Errorf("offered is %+v, told is %+v", offer.Names, offer.Changed)
	}
}

// TestOfferAChoice (WF-11): the request says in its format's words whether the model may, must or must not call, and which tool.
func TestOfferAChoice(t *testing.T) {
	t.Parallel()
	long := "mcp__server__" + strings.Repeat("a", 60)
	specs := []toolspec.Spec{offeredTool("test__search", searching), offeredTool(long, `{"type":"object"}`)}
	sent := wire.SentName(long)
	for _, tc := range []struct {
		codec  wire.Codec
		choice wire.Choice
		want   string // the members, or "" for an error
	}{
		{openai.Codec{}, wire.Choice{Mode: wire.Required, Serial: true}, `{"parallel_tool_calls":false,"tool_choice":"required"}`},
		{openai.Codec{}, wire.Choice{Mode: wire.Named, Name: long}, `{"tool_choice":{"type":"function","function":{"name":"` + sent + `"}}}`},
		{openai.Codec{}, wire.Choice{Mode: wire.Named, Name: sent}, `{"tool_choice":{"type":"function","function":{"name":"` + sent + `"}}}`},
		{responses.Codec{}, wire.Choice{Mode: wire.Named, Name: "test__search"}, `{"tool_choice":{"type":"function","name":"test__search"}}`},
		{anthropic.Codec{}, wire.Choice{Mode: wire.None}, `{"tool_choice":{"type":"none"}}`},
		{gemini.Codec{}, wire.Choice{Mode: wire.Named, Name: "test__search"}, `{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["test__search"]}}}`},
		{ollama.Codec{}, wire.Choice{Mode: wire.Auto}, `null`},
		{ollama.Codec{}, wire.Choice{Mode: wire.Required}, ``}, // it cannot be said
		{openai.Codec{}, wire.Choice{Mode: wire.Named, Name: "test__gone"}, ``},
		{openai.Codec{}, wire.Choice{Mode: "maybe"}, ``},
		{openai.Codec{}, wire.Choice{Mode: wire.Auto, Name: "test__search"}, ``},
	} {
		offer, err := client.NewOffer(tc.codec, specs, false)
		if err != nil {
			t.Fatal(err)
		}
		chosen, err := offer.WithChoice(tc.codec, tc.choice)
		got, _ := json.Marshal(chosen.Choice) //nolint:errchkjson // it is JSON already
		if (err != nil) != (tc.want == "") || err == nil && string(got) != tc.want {
			t.Errorf("%s, %+v: %s, %v, want %s", tc.codec.Format(), tc.choice, got, err, tc.want)
		}
	}
	none, err := client.NewOffer(openai.Codec{}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.WithChoice(openai.Codec{}, wire.Choice{Mode: wire.Required}); err == nil {
		t.Error("a call is required, and no tool is offered")
	}
	if chosen, err := none.WithChoice(openai.Codec{}, wire.Choice{Mode: wire.None}); err != nil || chosen.Choice != nil {
		t.Errorf("a choice without tools, which providers refuse: %s, %v", chosen.Choice, err)
	}
}

// oneCatalog has the same tools for every caller.
type oneCatalog struct{ visible catalog.Catalog }

func (c oneCatalog) Catalog(context.Context, catalog.Viewer) (catalog.Catalog, error) {
	return c.visible, nil
}

// closest is an Embedder to which every text is like the tool that labels, or that fails.
type closest struct{ err error }

func (e closest) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{1, 0}
		if strings.Contains(text, "test__search") {
			vectors[i] = []float32{0, 1}
		}
	}
	return vectors, e.err
}

// TestOfferByVectors: an offer takes the tools that a Picker picks. If its Embedder fails, words pick them, and the offer says why.
func TestOfferByVectors(t *testing.T) {
	t.Parallel()
	visible := catalog.New([]toolspec.Spec{offeredTool("test__search", searching), offeredTool("test__label", labelling)},
		func(toolspec.Spec) catalog.Visibility { return catalog.Visible })
	c := client.New(nil, client.Options{Catalogs: oneCatalog{visible}})
	down := errors.New("the service is down")
	for _, tc := range []struct {
		picker *catalog.Picker
		text   string
		want   []string
		err    error
	}{
		{nil, "sort these", nil, nil},
		{catalog.NewPicker(closest{}), "sort these", []string{"test__label"}, nil},
		{catalog.NewPicker(closest{down}), "sort these", nil, down},
		{catalog.NewPicker(closest{down}), "search", []string{"test__search"}, down},
	} {
		offer, err := c.Offer(t.Context(), catalog.Viewer{}, client.OfferOptions{
			Codec: openai.Codec{}, Query: &catalog.Query{Text: tc.text, K: 1}, Picker: tc.picker, Choice: wire.Choice{Mode: wire.Auto},
		})
		var got []string
		for _, tool := range offer.Names.Tools {
			got = append(got, tool.ToolID)
		}
		if err != nil || !slices.Equal(got, tc.want) || !errors.Is(offer.PickError, tc.err) {
			t.Errorf("%q: offered %v, %v, because of %v; want %v because of %v", tc.text, got, err, offer.PickError, tc.want, tc.err)
		}
	}
}

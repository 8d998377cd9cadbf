package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// meanings is an Embedder that knows the meanings of a few words. It records the texts it gets.
type meanings struct {
	words map[string]int
	asked [][]string
	spoil func([][]float32) ([][]float32, error)
}

func (m *meanings) Embed(_ context.Context, texts []string) ([][]float32, error) {
	m.asked = append(m.asked, slices.Clone(texts))
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = []float32{0.001, 0, 0, 0}
		for _, word := range plainWords(text) {
			if at, known := m.words[word]; known {
				vectors[i][at]++
			}
		}
	}
	if m.spoil != nil {
		return m.spoil(vectors)
	}
	return vectors, nil
}

func newMeanings() *meanings {
	return &meanings{words: map[string]int{"mute": 1, "silenc": 1, "refund": 2, "reimburs": 2}}
}

func soundTools() []toolspec.Spec {
	return []toolspec.Spec{spec("a__mute", "Mutes a monitor."), spec("a__refund", "Refunds a payment."), spec("a__time", "Tells the time.")}
}

// TestPickByVectors: an Embedder finds a tool that shares no word with the request.
func TestPickByVectors(t *testing.T) {
	c := shown(soundTools())
	query := catalog.Query{Text: "silence it", K: 1}
	if got := ids(c.Pick(query)); len(got) != 0 {
		t.Fatalf("words alone find %v", got)
	}
	m := newMeanings()
	p := catalog.NewPicker(m)
	got, err := p.Pick(t.Context(), c, query)
	if err != nil || !slices.Equal(ids(got), []string{"a__mute"}) || got[0].Score <= 0 || len(got[0].Why) != 0 {
		t.Fatalf("picked %+v, %v", got, err)
	}
	got, err = p.Pick(t.Context(), c, catalog.Query{Text: "silence that monitor, then reimburse the last payment", K: 2})
	if found := ids(got); err != nil || !slices.Contains(found, "a__mute") || !slices.Contains(found, "a__refund") {
		t.Errorf("picked %v, %v", found, err)
	}
}

// TestPickerKeepsVectors: the Embedder gets the text of each visible tool once, in batches, cut to the bound. It gets no text of a hidden
// tool.
func TestPickerKeepsVectors(t *testing.T) {
	tools := []toolspec.Spec{spec("z__long", strings.Repeat("long ", 2_000)), spec("z__hidden", "Never shown.")}
	for i := range 100 {
		tools = append(tools, spec(fmt.Sprintf("a__tool_%d", i), "A tool."))
	}
	see := func(specs []toolspec.Spec) catalog.Catalog {
		return catalog.New(specs, func(s toolspec.Spec) catalog.Visibility {
			if s.Name == "z__hidden" {
				return catalog.Hidden
			}
			return catalog.Visible
		})
	}
	m := newMeanings()
	p := catalog.NewPicker(m)
	pick := func(specs []toolspec.Spec) (texts []int) {
		t.Helper()
		m.asked = nil
		if _, err := p.Pick(t.Context(), see(specs), catalog.Query{Text: "mute the tool"}); err != nil {
			t.Fatal(err)
		}
		for _, batch := range m.asked {
			texts = append(texts, len(batch))
			for _, text := range batch {
				if strings.Contains(text, "Never shown") || len(text) > catalog.MaxEmbedBytes {
					t.Errorf("the embedder got %d bytes: %.40q", len(text), text)
				}
			}
		}
		return texts
	}
	if got, want := pick(tools), []int{catalog.MaxEmbedTexts, 101 - catalog.MaxEmbedTexts, 1}; !slices.Equal(got, want) {
		t.Errorf("the first query sends batches of %v, want %v", got, want)
	}
	if got := pick(tools); !slices.Equal(got, []int{1}) {
		t.Errorf("the second query sends %v, want only itself", got)
	}
	tools[5].Description = "Another tool."
	if got := pick(tools); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("after a change of a tool: %v, want that tool and the query", got)
	}
}

// TestPickWithoutVectors: if the Embedder fails in any way, Pick uses words only and returns an error with the reason.
func TestPickWithoutVectors(t *testing.T) {
	down := errors.New("the service is down")
	query := catalog.Query{Text: "refund the payment"}
	c := shown(soundTools())
	want := c.Pick(query)
	for name, spoil := range map[string]func([][]float32) ([][]float32, error){
		"an error":          func([][]float32) ([][]float32, error) { return nil, down },
		"too few vectors":   func(v [][]float32) ([][]float32, error) { return v[1:], nil },
		"an empty vector":   func(v [][]float32) ([][]float32, error) { v[0] = nil; return v, nil },
		"zeros":             func(v [][]float32) ([][]float32, error) { v[0] = make([]float32, 4); return v, nil },
		"no number":         func(v [][]float32) ([][]float32, error) { v[0][1] = float32(math.NaN()); return v, nil },
		"an infinite one":   func(v [][]float32) ([][]float32, error) { v[0][1] = float32(math.Inf(-1)); return v, nil },
		"a huge vector":     func(v [][]float32) ([][]float32, error) { v[0] = slices.Repeat([]float32{1}, 4_097); return v, nil },
		"different lengths": func(v [][]float32) ([][]float32, error) { v[0] = v[0][:3]; return v, nil },
	} {
		m := newMeanings()
		m.spoil = spoil
		got, err := catalog.NewPicker(m).Pick(t.Context(), c, query)
		if err == nil || !reflect.DeepEqual(got, want) || name == "an error" && !errors.Is(err, down) {
			t.Errorf("%s: %v, %v; want %v and an error", name, ids(got), err, ids(want))
		}
	}
	var none *catalog.Picker
	if got, err := none.Pick(t.Context(), c, query); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("no picker: %v, %v", ids(got), err)
	}
	m := newMeanings()
	if got, err := catalog.NewPicker(m).Pick(t.Context(), c, catalog.Query{Text: " "}); err != nil || len(got) != 3 || len(m.asked) != 0 {
		t.Errorf("a blank query: %v, %v, the embedder got %v", ids(got), err, m.asked)
	}
	many := make([]toolspec.Spec, catalog.MaxEmbedTools+1)
	for i := range many {
		many[i] = spec(fmt.Sprintf("a__tool_%d", i), "A tool.")
	}
	if got, err := catalog.NewPicker(m).Pick(t.Context(), shown(many), query); err == nil || len(m.asked) != 0 || len(got) != 0 {
		t.Errorf("too many tools: %v, %v", ids(got), err)
	}
}

package catalog_test

import (
	"cmp"
	"context"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/kljensen/snowball/english"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// ranking returns the ids of the best k tools for a text.
type ranking func(text string, k int) []string

// recall returns the share of steps with a right tool among the first 5, 10 and 20, averaged over
// the requests, and the mean time per request.
func recall(rank ranking, requests []request) (at [3]float64, each time.Duration) {
	begin := time.Now()
	for _, r := range requests {
		got := rank(r.text, 20)
		for i, k := range []int{5, 10, 20} {
			found := 0
			for _, wanted := range r.steps {
				if slices.ContainsFunc(got[:min(k, len(got))], func(id string) bool { return slices.Contains(wanted, id) }) {
					found++
				}
			}
			at[i] += float64(found) / float64(len(r.steps)) / float64(len(requests))
		}
	}
	return at, time.Since(begin) / time.Duration(len(requests))
}

// TestPickFindsSteps (PT-02): for requests with several steps, Pick finds clearly more of the tools
// of each step than plain BM25 and than the ranking of the whole request. The thresholds are for
// requests that were written when the ranking was finished.
func TestPickFindsSteps(t *testing.T) {
	tools, byRef := stepTools(t)
	c := shown(tools)
	several, one := stepRequests(t, "development.txt", byRef)
	severalHeldOut, oneHeldOut := stepRequests(t, "heldout.txt", byRef)
	if len(tools) < 500 || len(several) < 90 || len(one) < 60 || len(severalHeldOut) < 50 || len(oneHeldOut) < 30 {
		t.Fatalf("%d tools and %d+%d+%d+%d requests are too few to say anything", len(tools), len(several), len(one), len(severalHeldOut), len(oneHeldOut))
	}
	picker := catalog.NewPicker(newGrams(tools))
	ways := []struct {
		name string
		rank ranking
	}{
		{"plain BM25", plainBM25(tools)},
		{"whole request", func(text string, k int) []string { return ids(c.PickWhole(text, k)) }},
		{"steps", func(text string, k int) []string { return ids(c.Pick(catalog.Query{Text: text, K: k})) }},
		{"with vectors", func(text string, k int) []string {
			matches, err := picker.Pick(t.Context(), c, catalog.Query{Text: text, K: k})
			if err != nil {
				t.Fatal(err)
			}
			return ids(matches)
		}},
	}
	got := map[string][3]float64{}
	for _, set := range []struct {
		name     string
		requests []request
	}{
		{"development, several steps", several},
		{"development, one step", one},
		{"held out, several steps", severalHeldOut},
		{"held out, one step", oneHeldOut},
		{"misspelt, several steps", misspelt(severalHeldOut)},
	} {
		for _, way := range ways {
			if way.name == "with vectors" && strings.HasPrefix(set.name, "development") {
				continue // embedding is slow for large sets
			}
			at, each := recall(way.rank, set.requests)
			got[set.name+", "+way.name] = at
			t.Logf("%-28s (%3d) %-13s recall at 5 %.3f, at 10 %.3f, at 20 %.3f; %v a request", set.name, len(set.requests), way.name, at[0], at[1], at[2], each.Round(time.Microsecond))
		}
	}
	at10 := func(set, way string) float64 { return got[set+", "+way][1] }
	if bm25, whole, steps := at10("held out, several steps", "plain BM25"), at10("held out, several steps", "whole request"), at10("held out, several steps", "steps"); steps < 0.80 || steps < bm25+0.08 || steps < whole+0.08 {
		t.Errorf("several steps: recall at 10 is %.3f, want 0.80 and 0.08 more than plain BM25 (%.3f) and the whole request (%.3f)", steps, bm25, whole)
	}
	if bm25, whole, steps := at10("held out, one step", "plain BM25"), at10("held out, one step", "whole request"), at10("held out, one step", "steps"); steps < bm25 || steps < whole {
		t.Errorf("one step: recall at 10 is %.3f, want no less than plain BM25 (%.3f) and the whole request (%.3f)", steps, bm25, whole)
	}
	if steps, vectors := at10("misspelt, several steps", "steps"), at10("misspelt, several steps", "with vectors"); vectors < steps+0.03 {
		t.Errorf("misspelt words: recall at 10 is %.3f with vectors, want 0.03 more than %.3f without", vectors, steps)
	}
}

// misspelt swaps two letters in the middle of each long word, as a typing error does.
func misspelt(requests []request) (list []request) {
	for _, r := range requests {
		words := strings.Fields(r.text)
		for i, word := range words {
			if at := len(word) / 2; len(word) > 5 {
				words[i] = word[:at-1] + word[at:at+1] + word[at-1:at] + word[at+1:]
			}
		}
		list = append(list, request{strings.Join(words, " "), r.steps})
	}
	return list
}

// plainBM25 ranks by BM25 (k1 = 1.2, b = 0.75) over names, descriptions, tags and arguments as one text.
func plainBM25(tools []toolspec.Spec) ranking {
	type posting struct {
		tool  int
		times float64
	}
	postings, lengths, total := map[string][]posting{}, make([]float64, len(tools)), 0.0
	for i, tool := range tools {
		words := plainWords(tool.Name + " " + tool.Description + " " + strings.Join(tool.Tags, " ") + " " + string(tool.InputSchema))
		lengths[i] = float64(len(words))
		total += lengths[i]
		slices.Sort(words)
		for j, word := range words {
			if j == 0 || word != words[j-1] {
				postings[word] = append(postings[word], posting{tool: i})
			}
			postings[word][len(postings[word])-1].times++
		}
	}
	all := float64(len(tools))
	return func(text string, k int) []string {
		scores, order := make([]float64, len(tools)), make([]int, len(tools))
		words := plainWords(text)
		slices.Sort(words)
		for _, word := range slices.Compact(words) {
			holders := float64(len(postings[word]))
			for _, p := range postings[word] {
				scores[p.tool] += math.Log(1+(all-holders+0.5)/(holders+0.5)) * p.times * 2.2 / (p.times + 1.2*(0.25+0.75*lengths[p.tool]*all/total))
			}
		}
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(tools[a].Name, tools[b].Name))
		})
		best := make([]string, 0, k)
		for _, i := range order[:k] {
			best = append(best, tools[i].Name)
		}
		return best
	}
}

// plainWords returns the stemmed words of a text. It splits camelCase.
func plainWords(text string) (words []string) {
	var spaced strings.Builder
	last := ' '
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(last):
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
		last = r
	}
	for word := range strings.FieldsSeq(strings.ToLower(spaced.String())) {
		words = append(words, english.Stem(word, true))
	}
	return words
}

// grams is an Embedder. A vector counts the groups of three characters in the words of a text,
// hashed to 1 024 values. A group counts more if fewer tools have it.
type grams struct{ rarity []float64 }

func newGrams(tools []toolspec.Spec) grams {
	g := grams{make([]float64, 1024)}
	for _, tool := range tools {
		seen := map[uint32]bool{}
		eachGram(tool.Name+" "+tool.Description, func(gram uint32) { seen[gram] = true })
		for gram := range seen {
			g.rarity[gram]++
		}
	}
	for gram, holders := range g.rarity {
		g.rarity[gram] = math.Log(float64(1+len(tools)) / (1 + holders))
	}
	return g
}

func (g grams) Embed(_ context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, len(g.rarity))
		vectors[i][0] = 1e-3 // no vector may be all 0
		eachGram(text, func(gram uint32) { vectors[i][gram] += float32(g.rarity[gram]) })
	}
	return vectors, nil
}

func eachGram(text string, emit func(gram uint32)) {
	for _, word := range plainWords(text) {
		word = " " + word + " "
		for at := range len(word) - 2 {
			h := fnv.New32a()
			h.Write([]byte(word[at : at+3]))
			emit(h.Sum32() % 1024)
		}
	}
}

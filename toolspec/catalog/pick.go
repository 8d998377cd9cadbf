package catalog

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Bounds of a query.
const (
	// DefaultPick is how many tools a query without K returns.
	DefaultPick = 20
	// MaxQueryBytes is how much of a query's text is read.
	MaxQueryBytes = 16 << 10
	// maxQueryWords bounds the words of a query that count. In a longer query, the rarest words count.
	maxQueryWords = 64
)

// Query describes the tools that a request to a model should offer.
type Query struct {
	// Text describes what the tools are for: words, a sentence, the user's message. If it is blank,
	// the tools are ordered by id.
	Text string
	// K is the maximum number of tools; 0 or less means DefaultPick.
	K int
	// Tags, Effects and Risks are filters: a tool must have all of the tags, one of the effects and
	// one of the risks. An empty filter accepts all tools.
	Tags    []string
	Effects []toolspec.Effect
	Risks   []toolspec.Risk
}

// Takes reports whether the filters of the query accept a tool.
func (q Query) Takes(spec toolspec.Spec) bool {
	for _, tag := range q.Tags {
		if !slices.Contains(spec.Tags, tag) {
			return false
		}
	}
	return (len(q.Effects) == 0 || slices.Contains(q.Effects, spec.Effect)) && (len(q.Risks) == 0 || slices.Contains(q.Risks, spec.Risk))
}

// Match is a tool that Pick returns.
type Match struct {
	Entry
	// Score orders the tools of one query. Scores of different queries are not comparable.
	Score float64 `json:"score"`
	// Why lists the words of the query that the tool has, in the query's order.
	Why []Hit `json:"why,omitempty"`
}

// Hit is a word of a query, and the fields that have it.
type Hit struct {
	Word string  `json:"word"`
	In   []Field `json:"in"`
}

// Pick returns the tools of the catalog that fit a query best, best first, and tools with equal
// scores by id. It does not return a tool that has none of the words. Words that no
// tool has are ignored.
//
// Hidden tools are not returned and do not affect the order or the scores of other tools. Pick
// decides nothing about calls: the gate treats a call of a tool that was not picked like any other.
//
// The first call builds the index, which the catalog shares with its copies; a new catalog builds a
// new one. Pick is safe for concurrent use.
func (c Catalog) Pick(q Query) []Match { return c.pick(q, nil) }

// pick is Pick with the similarity of each tool to the request and to each of its steps. similar is
// nil if only words count.
func (c Catalog) pick(q Query, similar [][]float64) []Match {
	k := q.K
	if k <= 0 {
		k = DefaultPick
	}
	k = min(k, len(c.entries))
	if strings.TrimSpace(q.Text) == "" || len(c.entries) == 0 {
		return c.first(q, k)
	}
	x := c.indexed()
	text := cut(q.Text, MaxQueryBytes)
	words := x.asked(text)
	scores := x.scores(append([][]asked{words}, x.steps(text)...), len(c.entries), similar)
	top := best{k: k}
	for tool, score := range scores {
		if score > 0 && q.Takes(c.entries[tool].Spec) {
			top.add(scored{math.Round(score*1e6) / 1e6, tool})
		}
	}
	matches := make([]Match, 0, k)
	for _, f := range top.all() {
		matches = append(matches, Match{Entry: c.entries[f.tool], Score: f.score, Why: why(words, f.tool)})
	}
	return matches
}

// scores returns the score of each tool for texts: a request, then its steps if it has several.
// With similar, the score of a text is fused from ranks.
//
// With several steps, the score of a tool is the sum of three numbers: its score for the whole
// request; its best share of the top score of a step, times the top score of the request; and the
// top sum in its namespace. The share raises the tools of each step, even if its words are common.
// The request and the namespace decide if a step says too little: in "create an invoice and send
// it", the second step does not say what to send.
func (x *index) scores(texts [][]asked, tools int, similar [][]float64) []float64 {
	rate := func(i int) []float64 {
		scores := make([]float64, tools)
		for _, a := range texts[i] {
			for _, p := range a.postings {
				scores[p.tool] += float64(a.weight * p.weight)
			}
		}
		if similar != nil {
			fuse(scores, similar[i])
		}
		return scores
	}
	scores := rate(0)
	if len(texts) == 1 {
		return scores
	}
	shares := make([]float64, tools)
	for i := 1; i < len(texts); i++ {
		step := rate(i)
		if most := slices.Max(step); most > 0 {
			for tool, score := range step {
				shares[tool] = max(shares[tool], score/most)
			}
		}
	}
	most := slices.Max(scores)
	for tool, share := range shares {
		scores[tool] += float64(most * share)
	}
	x.addNamespaces(scores)
	return scores
}

// addNamespaces adds the best score of its namespace to each tool with a positive score.
func (x *index) addNamespaces(scores []float64) {
	top := make([]float64, x.namespaces)
	for tool, score := range scores {
		of := x.namespace[tool]
		top[of] = max(top[of], score)
	}
	for tool, score := range scores {
		if score > 0 {
			scores[tool] += top[x.namespace[tool]]
		}
	}
}

// steps returns the words of each step of a request.
func (x *index) steps(text string) (steps [][]asked) {
	for _, step := range stepsOf(text) {
		steps = append(steps, x.asked(step))
	}
	return steps
}

// first returns the first k tools, by id, that the filters accept.
func (c Catalog) first(q Query, k int) []Match {
	matches := []Match{}
	for _, e := range c.entries {
		if len(matches) < k && q.Takes(e.Spec) {
			matches = append(matches, Match{Entry: e})
		}
	}
	return matches
}

// scored is the score of a tool, given by its index in the catalog.
type scored struct {
	score float64
	tool  int
}

func (s scored) compare(other scored) int {
	return cmp.Or(cmp.Compare(other.score, s.score), cmp.Compare(s.tool, other.tool))
}

// best keeps the k best tools.
type best struct {
	k     int
	found []scored
	// floor is the kth best score when found was last cut.
	floor float64
}

// add must get the tools in the order of their ids: of tools with equal scores the first are kept.
func (b *best) add(one scored) {
	if one.score <= b.floor {
		return
	}
	if b.found = append(b.found, one); len(b.found) >= 2*b.k {
		b.floor = b.all()[b.k-1].score
	}
}

func (b *best) all() []scored {
	slices.SortFunc(b.found, scored.compare)
	b.found = b.found[:min(b.k, len(b.found))]
	return b.found
}

// asked is a word of a query with its postings.
type asked struct {
	shown    string
	weight   float64
	postings []posting
}

// asked returns the words of a query or of a step: each word once, and only the rarest
// maxQueryWords.
func (x *index) asked(text string) []asked {
	var words []asked
	read, seen := map[string]bool{}, map[string]bool{}
	eachWord(text, false, func(word string) {
		if read[word] {
			return
		}
		read[word] = true
		stemmed := stem(word)
		if postings := x.of(stemmed); len(postings) > 0 && !seen[stemmed] {
			weight := 1.0
			if functionWords[word] {
				weight = functionWeight
			}
			words = append(words, asked{strings.Clone(word), weight, postings})
		}
		seen[stemmed] = true
	})
	if len(words) <= maxQueryWords {
		return words
	}
	rare := make([]int, len(words))
	for i := range rare {
		rare[i] = i
	}
	slices.SortStableFunc(rare, func(a, b int) int { return cmp.Compare(len(words[a].postings), len(words[b].postings)) })
	rare = rare[:maxQueryWords]
	slices.Sort(rare)
	kept := make([]asked, len(rare))
	for i, at := range rare {
		kept[i] = words[at]
	}
	return kept
}

// why returns the words that a tool has, with their fields.
func why(words []asked, tool int) []Hit {
	var hits []Hit
	for _, a := range words {
		at, has := slices.BinarySearchFunc(a.postings, tool, func(p posting, tool int) int { return cmp.Compare(int(p.tool), tool) })
		if !has {
			continue
		}
		hit := Hit{Word: a.shown}
		for field, name := range fieldNames {
			if a.postings[at].fields&(1<<field) != 0 {
				hit.In = append(hit.In, name)
			}
		}
		hits = append(hits, hit)
	}
	return hits
}

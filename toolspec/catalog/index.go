package catalog

import (
	"math"
	"strings"
)

// index finds the tools of one catalog by their words. It contains only the tools that the catalog
// shows. The frequency of words and the average length of fields come from these tools only, so no
// score reveals a hidden tool.
//
// The weight of a word in a tool is BM25F: S. Robertson, H. Zaragoza, M. Taylor, "Simple BM25
// Extension to Multiple Weighted Fields", CIKM 2004, with length normalisation per field as in
// Zaragoza et al., "Microsoft Cambridge at TREC-13", 2004. The counts of a word are normalised by
// the length of each field, weighted and summed, and then saturated once.
type index struct {
	terms map[string]int32
	// from holds the index of the first posting of each term. The next entry is the end.
	from     []int32
	postings []posting
	// namespace holds the number of each tool's namespace: the part of its id before the last "__".
	namespace  []int32
	namespaces int32
}

// posting records that a word occurs in a tool.
type posting struct {
	weight float64
	tool   int32
	fields uint8 // a bit for each field
}

// counted is the number of occurrences of a word in each field of one tool.
type counted struct {
	term, tool int32
	times      [fieldCount]uint16
}

func newIndex(entries []Entry) *index {
	b := &indexing{words: map[string]int32{}, terms: map[string]int32{}, lengths: make([][fieldCount]uint16, len(entries))}
	for tool, entry := range entries {
		b.read(int32(tool), texts(entry.Spec)) //nolint:gosec // a catalog is far smaller
	}
	x := b.index()
	x.readNamespaces(entries)
	return x
}

// readNamespaces numbers the namespaces.
func (x *index) readNamespaces(entries []Entry) {
	x.namespace = make([]int32, len(entries))
	numbers := map[string]int32{}
	for tool, entry := range entries {
		namespace := entry.Name[:max(0, strings.LastIndex(entry.Name, "__"))]
		number, known := numbers[namespace]
		if !known {
			number = x.namespaces
			numbers[namespace] = number
			x.namespaces++
		}
		x.namespace[tool] = number
	}
}

// indexing builds an index.
type indexing struct {
	words   map[string]int32 // terms by the word before stemming
	terms   map[string]int32
	counts  []counted // by tool
	latest  []int32   // the last index in counts of each term
	lengths [][fieldCount]uint16
}

func (b *indexing) read(tool int32, texts [fieldCount]string) {
	first := int32(len(b.counts)) //nolint:gosec // bounded by what a schema holds
	for field, text := range texts {
		length := &b.lengths[tool][field]
		eachWord(text, true, func(word string) {
			if *length >= maxFieldWords {
				return
			}
			*length++
			term := b.term(word)
			if b.latest[term] < first {
				b.latest[term] = int32(len(b.counts)) //nolint:gosec // as above
				b.counts = append(b.counts, counted{term: term, tool: tool})
			}
			b.counts[b.latest[term]].times[field]++
		})
	}
}

// term returns the number of a word. It adds new words.
func (b *indexing) term(word string) int32 {
	term, known := b.words[word]
	if known {
		return term
	}
	word = strings.Clone(word) // do not keep the whole text in memory
	stemmed := stem(word)
	if term, known = b.terms[stemmed]; !known {
		term = int32(len(b.terms)) //nolint:gosec // a catalog has far fewer words
		b.terms[stemmed] = term
		b.latest = append(b.latest, -1)
	}
	b.words[word] = term
	return term
}

func (b *indexing) index() *index {
	x := &index{terms: b.terms, from: make([]int32, len(b.terms)+1), postings: make([]posting, len(b.counts))}
	for _, c := range b.counts {
		x.from[c.term+1]++
	}
	rarity := make([]float64, len(b.terms))
	for term := range rarity {
		rarity[term] = inverseFrequency(len(b.lengths), int(x.from[term+1]))
		x.from[term+1] += x.from[term]
	}
	share := b.shares()
	next := append([]int32(nil), x.from...)
	for _, c := range b.counts {
		p := posting{tool: c.tool}
		times := 0.0
		for field, n := range c.times {
			if n > 0 {
				p.fields |= 1 << field
				times += float64(float64(n) * share(c.tool, field))
			}
		}
		p.weight = float64(rarity[c.term] * (times / (saturation + times)))
		x.postings[next[c.term]] = p
		next[c.term]++
	}
	return x
}

// inverseFrequency returns the weight of a word. tools is the number of tools, and holders the number of
// tools that have the word. The weight is positive even if every tool has the word.
func inverseFrequency(tools, holders int) float64 {
	return math.Log(1 + (float64(tools-holders)+0.5)/(float64(holders)+0.5))
}

// shares returns the function that gives the weight of one occurrence of a word in a field of a
// tool: the weight of the field, normalised by its length relative to the average of non-empty
// fields.
func (b *indexing) shares() func(tool int32, field int) float64 {
	var average [fieldCount]float64
	for field := range average {
		words, tools := 0, 0
		for _, lengths := range b.lengths {
			if lengths[field] > 0 {
				words, tools = words+int(lengths[field]), tools+1
			}
		}
		if tools > 0 {
			average[field] = float64(words) / float64(tools)
		}
	}
	// The conversions round each product. Fused multiply-add would give different results on
	// different processors, and so another order of tools with nearly equal scores.
	return func(tool int32, field int) float64 {
		long := float64(fieldLength[field] * (float64(b.lengths[tool][field])/average[field] - 1))
		return fieldWeight[field] / (1 + long)
	}
}

// of returns the postings of a stemmed word.
func (x *index) of(word string) []posting {
	term, ok := x.terms[word]
	if !ok {
		return nil
	}
	return x.postings[x.from[term]:x.from[term+1]]
}

package catalog

import (
	"math"
	"strings"
)

// index finds the tools of one catalog by their words. It is made of the tools
// that its catalog shows and of nothing else: how rare a word is and how long a
// field is by the average are asked of these alone, so that no score tells of a
// tool that is hidden.
//
// The weight of a word in a tool is BM25F: S. Robertson, H. Zaragoza, M. Taylor,
// "Simple BM25 Extension to Multiple Weighted Fields", CIKM 2004, with a length
// normalisation of each field's own as in Zaragoza et al., "Microsoft Cambridge at
// TREC-13", 2004. How often a word stands in each field is divided by the field's
// length, weighted and summed first, and saturated once.
type index struct {
	terms map[string]int32
	// from has where the postings of a term begin; those of the next end them.
	from     []int32
	postings []posting
	// namespace has the number of each tool's namespace: what is before the last "__" of its id.
	namespace  []int32
	namespaces int32
}

// posting says that a word stands in a tool.
type posting struct {
	weight float64
	tool   int32
	fields uint8 // a bit for each field
}

// counted is how often a word stands in each field of one tool.
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

// indexing is an index in the making.
type indexing struct {
	words   map[string]int32 // terms before the ending was taken off
	terms   map[string]int32
	counts  []counted // by tool
	latest  []int32   // of a term, its last place in counts
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

// term returns the number of a word.
func (b *indexing) term(word string) int32 {
	term, known := b.words[word]
	if known {
		return term
	}
	word = strings.Clone(word) // not the whole text with it
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

// inverseFrequency is what a word is worth that holders of all tools have. It is
// above zero even where all have it.
func inverseFrequency(all, holders int) float64 {
	return math.Log(1 + (float64(all-holders)+0.5)/(float64(holders)+0.5))
}

// shares says what a word in a field of a tool counts: the weight of the field, by
// its length against that of the tools that have any.
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
	// The products are rounded one by one: fused, they would differ between
	// processors, and so would the order of tools that are nearly equal.
	return func(tool int32, field int) float64 {
		long := float64(fieldLength[field] * (float64(b.lengths[tool][field])/average[field] - 1))
		return fieldWeight[field] / (1 + long)
	}
}

// of returns the postings of a word.
func (x *index) of(word string) []posting {
	term, ok := x.terms[word]
	if !ok {
		return nil
	}
	return x.postings[x.from[term]:x.from[term+1]]
}

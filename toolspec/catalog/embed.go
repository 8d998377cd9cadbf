package catalog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/pawl-run/pawl/internal/lru"
)

// Bounds of requests to an Embedder.
const (
	// MaxEmbedTexts is how many texts one call of Embed has at most.
	MaxEmbedTexts = 96
	// MaxEmbedBytes bounds a text that Embed gets, in bytes. A longer text of a tool or of a request
	// is cut.
	MaxEmbedBytes = 4 << 10
	// MaxEmbedTools is how many vectors a Picker keeps. In a catalog with more tools, vectors do not
	// count.
	MaxEmbedTools = 10_000
	// maxDimensions bounds the length of one vector, in numbers.
	maxDimensions = 4_096
)

const (
	// rankConstant is k of reciprocal rank fusion. A larger k makes the first ranks more equal. 60
	// is usual for lists of documents; a request needs only a few tools.
	rankConstant = 10
	// rankDepth is the number of tools that have a rank in each list.
	rankDepth = 200
)

// Embedder turns texts into vectors, such that texts of similar meaning have vectors of similar
// direction. Embed returns a vector for each text, in the order of the texts. All vectors have one
// length, of at most 4 096 numbers. Embed is called from many goroutines and must return when ctx
// ends.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Picker picks tools by their words, as Catalog.Pick does, and by the vectors of an Embedder. It
// keeps the vectors of tools by the digest of their text, at most MaxEmbedTools. Keep the Picker
// for the life of the program. It may be used by many goroutines. Workflow code must not use it. A
// nil Picker picks by words only.
type Picker struct {
	embedder Embedder
	vectors  *lru.Cache[[sha256.Size]byte, []float32]
}

// NewPicker returns a Picker.
func NewPicker(e Embedder) *Picker {
	return &Picker{e, lru.New[[sha256.Size]byte, []float32](MaxEmbedTools, nil)}
}

// Pick returns the tools of the catalog that fit a query best, as Catalog.Pick does. A tool is found
// by its words or by its vector; Why has the words only. With an error, the matches are those of
// Catalog.Pick, and the error says why vectors do not count. The error may have the text of the
// Embedder's error, so do not log it if that text can have a secret.
//
// Pick sends the texts of the visible tools and of the query to the Embedder. It waits for the
// Embedder until ctx ends.
func (p *Picker) Pick(ctx context.Context, c Catalog, q Query) ([]Match, error) {
	if p == nil || strings.TrimSpace(q.Text) == "" || len(c.entries) == 0 {
		return c.Pick(q), nil
	}
	text := cut(q.Text, MaxQueryBytes)
	similar, err := p.similarities(ctx, c, append([]string{text}, stepsOf(text)...))
	if err != nil {
		return c.Pick(q), fmt.Errorf("pick tools by vectors: %w", err)
	}
	return c.pick(q, similar), nil
}

// similarities returns the cosine similarity of each text and each tool.
func (p *Picker) similarities(ctx context.Context, c Catalog, texts []string) ([][]float64, error) {
	tools, err := p.toolVectors(ctx, c)
	if err != nil {
		return nil, err
	}
	asked, err := p.embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	similar := make([][]float64, len(texts))
	for i, a := range asked {
		similar[i] = make([]float64, len(tools))
		for tool, t := range tools {
			if len(t) != len(a) {
				return nil, fmt.Errorf("vectors of %d and of %d numbers: the embedder must return one length", len(t), len(a))
			}
			similar[i][tool] = dot(a, t)
		}
	}
	return similar, nil
}

// toolVectors returns the vectors of the tools of a catalog. It asks the Embedder only for vectors
// that are not cached.
func (p *Picker) toolVectors(ctx context.Context, c Catalog) ([][]float32, error) {
	if len(c.entries) > MaxEmbedTools {
		return nil, fmt.Errorf("the catalog has %d tools: vectors count for at most %d", len(c.entries), MaxEmbedTools)
	}
	vectors := make([][]float32, len(c.entries))
	var missing []int
	texts := c.embedded()
	for i, t := range texts {
		var kept bool
		if vectors[i], kept = p.vectors.Get(t.digest); !kept {
			missing = append(missing, i)
		}
	}
	for len(missing) > 0 {
		some := missing[:min(len(missing), MaxEmbedTexts)]
		missing = missing[len(some):]
		batch := make([]string, len(some))
		for i, tool := range some {
			batch[i] = texts[tool].text
		}
		got, err := p.embed(ctx, batch)
		if err != nil {
			return nil, err
		}
		for i, tool := range some {
			vectors[tool] = p.vectors.GetOrAdd(texts[tool].digest, func() []float32 { return got[i] })
		}
	}
	return vectors, nil
}

// embed returns the vectors of the texts, normalised to length 1.
func (p *Picker) embed(ctx context.Context, texts []string) ([][]float32, error) {
	short := make([]string, len(texts))
	for i, text := range texts {
		short[i] = cut(text, MaxEmbedBytes)
	}
	vectors, err := p.embedder.Embed(ctx, short)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("%d vectors for %d texts: the embedder must return a vector for each text", len(vectors), len(texts))
	}
	unit := make([][]float32, len(vectors))
	for i, v := range vectors {
		length := math.Sqrt(dot(v, v))
		if len(v) == 0 || len(v) > maxDimensions || !(length > 0) || math.IsInf(length, 0) {
			return nil, errors.New("a vector is empty, zero, infinite or too long: the embedder must return up to 4096 numbers that are not all 0")
		}
		unit[i] = make([]float32, len(v))
		for j, x := range v {
			unit[i][j] = float32(float64(x) / length)
		}
	}
	return unit, nil
}

// dot adds in a fixed order, so that all processors give the same result. The product of two
// float32 is exact in a float64.
func dot(a, b []float32) float64 {
	var sum [4]float64
	for len(a) >= 4 && len(b) >= 4 {
		sum[0] += float64(a[0]) * float64(b[0])
		sum[1] += float64(a[1]) * float64(b[1])
		sum[2] += float64(a[2]) * float64(b[2])
		sum[3] += float64(a[3]) * float64(b[3])
		a, b = a[4:], b[4:]
	}
	for i := range a {
		sum[0] += float64(a[i]) * float64(b[i])
	}
	return sum[0] + sum[1] + sum[2] + sum[3]
}

// toolText is the text of a tool for an Embedder.
type toolText struct {
	text   string
	digest [sha256.Size]byte
}

func toolTexts(entries []Entry) []toolText {
	list := make([]toolText, len(entries))
	for i, e := range entries {
		fields := texts(e.Spec)
		text := cut(strings.Join(fields[:], "\n"), MaxEmbedBytes)
		list[i] = toolText{text, sha256.Sum256([]byte(text))}
	}
	return list
}

// fuse replaces scores by the sum of reciprocal ranks in scores and similar: G. Cormack, C. Clarke,
// S. Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
// SIGIR 2009.
func fuse(scores, similar []float64) {
	fused := make([]float64, len(scores))
	for _, list := range [][]float64{scores, similar} {
		top := best{k: rankDepth}
		for tool, score := range list {
			top.add(scored{score, tool})
		}
		for rank, s := range top.all() {
			fused[s.tool] += 1 / float64(rankConstant+rank+1)
		}
	}
	copy(scores, fused)
}

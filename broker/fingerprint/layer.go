package fingerprint

import "sync"

// layer is a text at some depth of decoding.
type layer struct {
	text []byte
	// seams are the offsets in text, ascending, at which a byte is new or has a new
	// predecessor. A window without a seam is in the outer layer too and was searched
	// there. If whole is set, the whole text is new.
	seams []int
	whole bool
	// from and to delimit, for each byte, the part of the outermost text that encodes
	// it. They are set if tracked is, and empty in the outermost text.
	from, to []int
	tracked  bool
	// path lists the decoders that made the layer, as indexes of decoders, outermost
	// first.
	path []int
	// joined is set if joinStrings made this layer or one that it was decoded from.
	joined bool
	// unquoted is set if an outer layer has strings: joinStrings decodes them there, so this layer
	// does not look for strings again.
	unquoted bool
	// forward is the length of the strings in their own order. The same strings in the
	// reverse order follow. Only joined layers have it.
	forward int
	// room is how long the text may become by unpacking, in bytes.
	room int
	// exact makes joinStrings keep long strings whole and decode only the escapes of
	// JSON. If exact is set, shorter runs are decoded too.
	exact bool
	traits
}

// layers is a pool: a search needs several layers as large as the text.
var layers = sync.Pool{New: func() any { return &layer{} }}

// inner returns the empty layer that decoder d makes of l.
func (l *layer) inner(d int) *layer {
	out := layers.Get().(*layer) //nolint:errcheck,forcetypeassert // the pool holds nothing else
	out.tracked, out.exact, out.joined, out.unquoted = l.tracked, l.exact, l.joined, l.unquoted || l.survey().has&hasStrings != 0
	out.path = append(append(out.path, l.path...), d)
	return out
}

// release clears a layer that inner returned and gives it back.
func (l *layer) release() {
	clear(l.text)
	*l = layer{
		text: l.text[:0], seams: l.seams[:0], from: l.from[:0], to: l.to[:0], path: l.path[:0],
		traits: traits{runs: l.runs[:0], hexes: l.hexes[:0], lists: l.lists[:0], strings: l.strings[:0]},
	}
	layers.Put(l)
}

// originOf returns the part of the outermost text that encodes bytes i to j.
func (l *layer) originOf(i, j int) (from, to int) {
	if len(l.from) == 0 {
		return i, j
	}
	// Strings may stand in the other order: the first byte need not come first.
	return min(l.from[i], l.from[j-1]), max(l.to[i], l.to[j-1])
}

// track records the origins of the copied bytes i to j of the outer layer.
func (l *layer) track(outside *layer, i, j int) {
	if !l.tracked {
		return
	}
	for k := i; k < j; k++ {
		from, to := outside.originOf(k, k+1)
		l.from, l.to = append(l.from, from), append(l.to, to)
	}
}

// putDecoded appends the bytes that bytes i to j of the outer layer encode.
func (l *layer) putDecoded(outside *layer, i, j int, meant ...byte) {
	if !l.whole {
		for k := range max(1, len(meant)) {
			l.markSeam(len(l.text) + k)
		}
	}
	l.text = append(l.text, meant...)
	if !l.tracked {
		return
	}
	from, to := outside.originOf(i, j)
	for range meant {
		l.from, l.to = append(l.from, from), append(l.to, to)
	}
}

// markSeam records a seam; offsets are ascending.
func (l *layer) markSeam(at int) {
	if n := len(l.seams); n == 0 || l.seams[n-1] < at {
		l.seams = append(l.seams, at)
	}
}

// findSeams returns a function that reports whether a part has a seam in it or at its end, or the
// whole layer is new. The function takes ascending parts.
func (l *layer) findSeams() func(part) bool {
	k := 0
	return func(p part) bool {
		for k < len(l.seams) && l.seams[k] < p.from {
			k++
		}
		return l.whole || k < len(l.seams) && l.seams[k] <= p.to
	}
}

// originsOf returns the parts of the outermost text that encode bytes i to j.
// Adjacent parts are merged.
func (l *layer) originsOf(i, j int) (parts []part) {
	if len(l.from) == 0 {
		return []part{{i, j}}
	}
	for k := i; k < j; k++ {
		p := part{l.from[k], l.to[k]}
		if n := len(parts); n > 0 && parts[n-1].from <= p.from && p.from <= parts[n-1].to {
			parts[n-1].to = max(parts[n-1].to, p.to)
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

// part is a part of a text.
type part struct{ from, to int }

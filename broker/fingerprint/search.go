package fingerprint

import (
	"hash/maphash"
	"strings"
)

const (
	// maxDepth is how many layers of encoding a search decodes.
	maxDepth = 6
	// maxWork and minWork bound the work: a search decodes at most maxWork bytes for
	// each byte of the text, plus minWork bytes.
	maxWork, minWork = 16, 1 << 20
	// pieces marks a form whose parts were apart.
	pieces = " in pieces"
)

// decoder takes one encoding off a text.
type decoder struct {
	// name is the name of the encoding in Match.Form.
	name string
	// needs are traits; the decoder runs on a text that has one of them.
	needs trait
	// careful marks a decoder that runs only in the second search, or if the set has secrets as
	// isLayered describes them. The second search runs if the first one saw a part of a secret. The
	// other decoders of escapes decode all kinds and layers at once. That fails if text in front of
	// a secret forms an escape with it, as in DOMAIN\name. A decoder of one kind and one layer at a
	// time finds such a secret.
	careful bool
	// decode appends the decoded text to out. It reports false if nothing in the text
	// is encoded this way.
	decode func(in, out *layer) bool
}

// decoders is the table of encodings that a search decodes. A text in several
// encodings is decoded in several layers.
var decoders = []decoder{
	{name: "escaped", needs: hasEscapes, decode: decodeEscapes(hasEscapes, true)},
	{name: "escaped", needs: hasEscapes, careful: true, decode: decodeEscapes(hasEscapes, false)},
	{name: "html", needs: hasEntities, careful: true, decode: decodeEscapes(hasEntities, false)},
	{name: "url", needs: hasPercents, careful: true, decode: decodeEscapes(hasPercents, false)},
	{name: "backslash", needs: hasBackslash, careful: true, decode: decodeEscapes(hasBackslash, false)},
	{name: "utf-16", needs: hasZeros, decode: decodeEscapes(hasZeros, false)},
	{name: "quoted-printable", needs: hasPrintable, decode: decodeEscapes(hasPrintable, false)},
	{name: pieces, needs: hasStrings, decode: joinStrings},
	{name: "base64", needs: hasRuns, decode: decodeBase64(0)},
	{name: "base64", needs: hasRuns, decode: decodeBase64(1)},
	{name: "base64", needs: hasRuns, decode: decodeBase64(2)},
	{name: "base64", needs: hasRuns, decode: decodeBase64(3)},
	{name: "hex", needs: hasHexes, decode: decodeHex(0)},
	{name: "hex", needs: hasHexes, decode: decodeHex(1)},
	{name: "hex list", needs: hasLists, decode: decodeList(parseHex)},
	{name: "decimal list", needs: hasLists, decode: decodeList(parseDecimal)},
	{name: "octal list", needs: hasLists, decode: decodeList(parseOctal)},
	{name: "packed", needs: isPacked, decode: decodePacked},
}

// search looks for the secrets of a set in a text and in its decoded layers.
type search struct {
	set *Set
	// careful selects the second search: every decoder, and every byte of every layer.
	// The first one searches only the part of a layer that decoding changed.
	careful bool
	// steps makes the first search use the careful decoders too: the set has secrets as isLayered
	// describes them.
	steps bool
	// room is how many bytes the search may still decode.
	room int
	// seen holds digests of the runs and lists that were decoded. If careful or steps is set, it
	// also holds digests of the layers: several orders of decoders may give the same text.
	seen map[searchKey]bool
	// suspects are the labels of secrets of which a window was seen, but not the whole secret.
	suspects map[string]bool
}

// input is the parts of a text that the decoders of one trait read.
type input struct {
	needs trait
	parts []part
}

// searchKey is a digest of parts of a text that a search saw, with the trait whose decoders read
// the parts.
type searchKey struct {
	kind trait
	sum  uint64
}

var seed = maphash.MakeSeed()

func newSearch(s *Set, size int, careful bool) *search {
	return &search{set: s, careful: careful, steps: s.needsSteps(), room: maxWork*size + minWork, seen: map[searchKey]bool{}, suspects: map[string]bool{}}
}

// run searches the layers, breadth first, and calls found with each one that
// holds secrets, until found returns false.
func (r *search) run(found func(*layer, []span) bool, tops ...*layer) {
	more := true
	for queue := tops; len(queue) > 0; queue = queue[1:] {
		l := queue[0]
		l.exact = r.careful || r.steps
		if more {
			if spans := r.set.scan(l, r.careful, r.suspects); len(spans) > 0 {
				more = found(l, spans)
			}
		}
		if more && len(l.path) < maxDepth {
			queue = append(queue, r.decodeAll(l)...)
		}
		if len(l.path) > 0 {
			l.release()
		}
	}
}

// decodeAll returns the layers that the decoders make of l.
func (r *search) decodeAll(l *layer) (found []*layer) {
	t := l.survey()
	unquoted := t.has & hasStrings // for inner layers, as inner sets layer.unquoted
	if l.unquoted {
		unquoted = hasStrings
	}
	// The same runs again would give the same layers again.
	for _, in := range []input{{hasRuns, t.runs}, {hasHexes, t.hexes}, {hasLists, t.lists}} {
		if t.has&in.needs != 0 && !r.isNew(in.needs|unquoted, l.text, in.parts...) {
			t.has &^= in.needs
		}
	}
	for d, known := range decoders {
		if t.has&known.needs == 0 || known.careful && !r.careful && !r.steps || l.joined && !r.careful && known.needs != hasStrings {
			continue
		}
		if r.room <= 0 {
			return found
		}
		out := l.inner(d)
		out.room = r.room
		if !known.decode(l, out) || len(out.text) < MinLength {
			out.release()
			continue
		}
		r.room -= len(out.text)
		if (r.careful || r.steps) && !r.isNew(0, out.text, part{0, len(out.text)}) {
			out.release()
			continue
		}
		found = append(found, out)
	}
	return found
}

// isNew reports whether the search sees these parts of a text for the first time for this trait.
func (r *search) isNew(kind trait, text []byte, parts ...part) bool {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, p := range parts {
		_, _ = h.Write(text[p.from:p.to])
		_ = h.WriteByte(0) // no run and no list contains a zero byte
	}
	key := searchKey{kind, h.Sum64()}
	was := r.seen[key]
	r.seen[key] = true
	return !was
}

// replayPath decodes the layer at a path again, and records the origin of each byte. A search
// records no origins, because most searches find nothing.
func replayPath(text []byte, path []int, exact bool) *layer {
	l := &layer{text: text, whole: true, tracked: true, exact: exact}
	for _, d := range path {
		out := l.inner(d)
		out.room = maxWork*len(text) + minWork
		decoders[d].decode(l, out)
		l = out
	}
	return l
}

// nameOf returns Match.Form of a form in the layer.
func (l *layer) nameOf(f *form) string {
	var names []string
	apart := f.squeezed
	for _, d := range l.path {
		if name := decoders[d].name; name == pieces {
			apart = true
		} else {
			names = append(names, name)
		}
	}
	if f.name != "plain" || len(names) == 0 {
		names = append(names, f.name)
	}
	name := strings.Join(names, " of ")
	if apart {
		name += pieces
	}
	return name
}

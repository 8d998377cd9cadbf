package catalog

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/pawl-run/pawl/toolspec"
)

// Lookalikes returns, for each discovered tool with a name that a reader could take for the name of a
// tool of another source, the ids of these other tools, in the order of specs. Namespaces do not count: a
// model and a person read the bare name.
func Lookalikes(specs []toolspec.Spec) map[string][]string {
	byName := map[string][]toolspec.Spec{}
	for _, s := range specs {
		name := foldName(ownName(s))
		byName[name] = append(byName[name], s)
	}
	alike := map[string][]string{}
	for _, s := range specs {
		if s.Discovered == nil {
			continue
		}
		for _, other := range byName[foldName(ownName(s))] {
			if other.Origin != s.Origin || other.ProvidedBy != s.ProvidedBy {
				alike[s.Name] = append(alike[s.Name], other.Name)
			}
		}
	}
	return alike
}

// ownName returns the name of a tool at its server, or else its bare name.
func ownName(s toolspec.Spec) string {
	if s.Discovered != nil && s.Discovered.Name != "" {
		return s.Discovered.Name
	}
	return toolspec.BareName(s.Name)
}

// foldName returns a form that names have in common if they look the same at a glance: without case,
// accents and separators, and with one character in place of all characters that look similar.
func foldName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1 // separators, accents
		}
		r = unicode.ToLower(r)
		if i := slices.Index(similar, r); i >= 0 {
			return shapes[i]
		}
		return r
	}, norm.NFKD.String(name))
	return strings.NewReplacer("rn", "m", "vv", "w").Replace(name)
}

// The letters and digits in similar look like the letters at the same index in shapes. First come digits and Latin
// letters, then Cyrillic, then Greek letters.
var (
	similar = []rune("01i5ı" + "асԁеһіјӏорѕԛԝхуѵ" + "αεικνορτυχ")
	shapes  = []rune("ollsl" + "acdehljlopsqwxyv" + "aelkvoptux")
)

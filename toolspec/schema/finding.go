package schema

import (
	"cmp"
	"slices"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// Finding is a note about one keyword of a document.
type Finding struct {
	Pointer string `json:"pointer"` // JSON pointer of the keyword in the document
	Keyword string `json:"keyword"`
	Effect  Effect `json:"effect"`
	Text    string `json:"text"` // for people
}

// Effect is what a function did to a keyword. The set is closed.
type Effect string

// The effects.
const (
	Linted    Effect = "lint"      // stays; some providers do not take it
	Ignored   Effect = "ignored"   // has no effect in the document's own draft
	LeftOpen  Effect = "left_open" // an object that stays open
	Dropped   Effect = "dropped"   // left out: the sent schema allows more
	Loosened  Effect = "loosened"  // replaced by something that allows more
	Inlined   Effect = "inlined"   // written out at its place, with the same meaning
	Rewritten Effect = "rewritten" // said in other words, with the same meaning
	Tightened Effect = "tightened" // the sent schema allows less: some valid calls cannot be made
)

func sortFindings(list []Finding) []Finding {
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Effect, b.Effect), cmp.Compare(a.Text, b.Text))
	})
	return slices.Compact(list)
}

func found(at strictjson.Path, keyword string, effect Effect, text string) Finding {
	return Finding{Pointer: strictjson.Printable(at.With(keyword).Short()), Keyword: keyword, Effect: effect, Text: text}
}

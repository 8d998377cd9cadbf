package catalog

import "slices"

// PickWhole ranks by the whole text and all of its words, without steps, as earlier releases did.
func (c Catalog) PickWhole(text string, k int) []Match {
	x := c.indexed()
	words := slices.Clone(x.asked(text))
	for i := range words {
		words[i].weight = 1
	}
	top := best{k: k}
	for tool, score := range x.scores([][]asked{words}, len(c.entries), nil) {
		top.add(scored{score, tool})
	}
	var matches []Match
	for _, found := range top.all() {
		matches = append(matches, Match{Entry: c.entries[found.tool], Score: found.score})
	}
	return matches
}

// StepsOf is stepsOf.
func StepsOf(text string) []string { return stepsOf(text) }

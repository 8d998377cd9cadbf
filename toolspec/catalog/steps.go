package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxSteps bounds the steps of one request. A longer request joins neighbouring steps.
	maxSteps = 8
	// functionWeight is the weight of a function word; other words have the weight 1. A function
	// word occurs in few descriptions, so it would count as a rare word.
	functionWeight = 0.3
)

// conjunctions separate the steps of a sentence. functionWords have a grammatical function and no
// meaning of their own. Both are closed classes of English words. Prepositions are not function
// words here, because tools and requests often share them.
var (
	conjunctions  = wordSet("and then also but after afterwards before plus next finally if")
	functionWords = wordSet(`a an the this that these those i me my mine we us our ours you your yours he him his she her hers it its
		they them their theirs is are was were be been being am do does did has have had can could will would shall should may might
		must and or but then also so if please who whom whose which what when where why how there here`)
)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// stepsOf splits a request into its steps, in order: at the ends of sentences, at lines, commas and
// conjunctions. A part is joined to the part before it if one of the two has fewer than two words
// other than function words. It returns nil for a request with one step.
func stepsOf(text string) (steps []string) {
	var ends []int // the ends of the steps; a step starts at the end of the step before
	last := 0      // number of words in the last step, without function words
	from := 0
	eachClause(text, func(end int) {
		subjects := 0
		eachWord(text[from:end], false, func(word string) {
			if !functionWords[word] {
				subjects++
			}
		})
		if n := len(ends); n > 0 && (subjects < 2 || last < 2) {
			ends[n-1], last = end, last+subjects
		} else {
			ends, last = append(ends, end), subjects
		}
		from = end
	})
	n := min(len(ends), maxSteps)
	from = 0
	for i := range n {
		end := ends[(i+1)*len(ends)/n-1]
		steps = append(steps, text[from:end])
		from = end
	}
	if n < 2 {
		return nil
	}
	return steps
}

// eachClause calls emit with the end of each clause of a text.
func eachClause(text string, emit func(end int)) {
	for i, r := range text {
		next := i + utf8.RuneLen(r)
		switch r {
		case '\n', '。', '！', '？', '；', '，', '、':
			emit(next)
		case '.', '!', '?', ';', ':', ',', '-':
			if after, _ := utf8.DecodeRuneInString(text[next:]); unicode.IsSpace(after) {
				emit(next)
			}
		case ' ':
			if word := text[next : next+endOf(text[next:], inWord)]; len(word) <= 10 && conjunctions[strings.ToLower(word)] {
				emit(next)
			}
		}
	}
	emit(len(text))
}

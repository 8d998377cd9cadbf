package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// maxWordBytes bounds one word, in bytes, in queries and in tools. A longer word is an identifier
// or a blob, and is cut.
const maxWordBytes = 64

// eachWord calls emit with the words of a text in order, in NFKC and lower case. Callers compare
// the stems of words.
//
// readFile, read_file, read-file and READ_FILE give the words read, file and readfile; HTTPServer
// gives http, server and httpserver. `__`, and every character except letters, marks and digits,
// separates words. Text in a script without spaces between words (Han, Kana, Hangul, Thai, Lao,
// Khmer, Burmese) gives pairs of neighbouring characters and, with single, single characters too.
func eachWord(text string, single bool, emit func(word string)) {
	text = norm.NFKC.String(text)
	for len(text) > 0 {
		start := strings.IndexFunc(text, inWord)
		if start < 0 {
			return
		}
		text = text[start:]
		if r, _ := utf8.DecodeRuneInString(text); unspaced(r) {
			end := endOf(text, unspaced)
			eachPair(text[:end], single, emit)
			text = text[end:]
			continue
		}
		end := endOfName(text)
		eachPart(text[:end], emit)
		text = text[end:]
	}
}

func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N)
}

func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// spaced is inWord for scripts with spaces between words.
func spaced(r rune) bool { return inWord(r) && !unspaced(r) }

// endOf returns the end of the leading characters for which holds is true.
func endOf(text string, holds func(rune) bool) int {
	if end := strings.IndexFunc(text, func(r rune) bool { return !holds(r) }); end >= 0 {
		return end
	}
	return len(text)
}

// endOfName returns the end of a name whose parts are joined by single underscores and hyphens.
// text starts with such a part.
func endOfName(text string) int {
	end := endOf(text, spaced)
	for end+1 < len(text) && (text[end] == '_' || text[end] == '-') {
		next := endOf(text[end+1:], spaced)
		if next == 0 {
			return end
		}
		end += 1 + next
	}
	return end
}

// eachPart emits the parts of a name and, if there are several, the parts joined together.
func eachPart(name string, emit func(word string)) {
	var whole strings.Builder
	parts := 0
	for len(name) > 0 {
		end := endOfPart(name)
		if parts == 0 && end == len(name) {
			emit(lowered(name))
			return
		}
		part := lowered(name[:end])
		emit(part)
		whole.WriteString(part)
		parts++
		name = strings.TrimLeft(name[end:], "_-")
	}
	if parts > 1 {
		emit(cut(whole.String(), maxWordBytes))
	}
}

// endOfPart returns the end of the first part of a name: before an underscore or hyphen, before a
// capital that follows no capital (readFile), and before the last of several capitals if a small
// letter follows it (HTTPServer). Digits belong to the characters before them.
func endOfPart(name string) int {
	var before, last rune
	lastAt := 0
	for i, r := range name {
		switch {
		case r == '_' || r == '-':
			return i
		case i > 0 && unicode.IsUpper(r) && !unicode.IsUpper(last) && !unicode.IsMark(last):
			return i
		case lastAt > 0 && unicode.IsLower(r) && unicode.IsUpper(last) && unicode.IsUpper(before):
			return lastAt
		}
		before, last, lastAt = last, r, i
	}
	return len(name)
}

func lowered(word string) string { return cut(strings.ToLower(word), maxWordBytes) }

// cut returns at most the first limit bytes of a text, in whole characters.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// stem removes the English ending: files, filing and file have one stem. It returns words with
// other characters than a to z unchanged.
func stem(word string) string {
	if len(word) < 3 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	return english.Stem(word, true)
}

// eachPair emits the pairs of neighbouring characters of a run without spaces. A single character
// is a word.
func eachPair(run string, single bool, emit func(word string)) {
	_, first := utf8.DecodeRuneInString(run)
	if len(run) == first {
		emit(run)
		return
	}
	for i := 0; i < len(run); {
		_, one := utf8.DecodeRuneInString(run[i:])
		if single {
			emit(run[i : i+one])
		}
		if i+one < len(run) {
			_, two := utf8.DecodeRuneInString(run[i+one:])
			emit(run[i : i+one+two])
		}
		i += one
	}
}

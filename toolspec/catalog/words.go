package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// maxWordBytes bounds one word: what is longer is an identifier or a blob, and is
// cut, in queries as in tools.
const maxWordBytes = 64

// eachWord calls emit with the words of a text in their order, in NFKC and lower
// case. What is compared of them is their stem.
//
// readFile, read_file, read-file and READ_FILE are the words read and file, and
// readfile besides; HTTPServer is http, server, httpserver. `__` and everything
// else that is no letter, mark or digit parts words. A run of a script that puts
// no spaces between words (Han, Kana, Hangul, Thai, Lao, Khmer, Burmese) becomes
// pairs of neighbouring characters; with single, the characters too.
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

// spaced is inWord for the scripts that put spaces between words.
func spaced(r rune) bool { return inWord(r) && !unspaced(r) }

// endOf is where the run of characters that hold ends.
func endOf(text string, holds func(rune) bool) int {
	if end := strings.IndexFunc(text, func(r rune) bool { return !holds(r) }); end >= 0 {
		return end
	}
	return len(text)
}

// endOfName is where a name ends whose parts are joined by single underscores and
// hyphens. text starts with such a part.
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

// eachPart emits the parts of a name, and the whole where there are several.
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

// endOfPart is where the first part of a name ends: before a joint, before a
// capital after something that is none (readFile), and before the last of several
// capitals that a small letter follows (HTTPServer). Digits go with what is
// before them.
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

// cut keeps the first bytes of a text, at most that many, in whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// stem takes the English ending off: files, filing and file are one word. Words
// with anything but the letters a to z are left alone.
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

// eachPair emits the pairs of neighbours of a run without spaces. One character
// alone is a word.
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

package toolspec

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Masking hides parts of the texts of an output. The output leaves the attempt masked, so no
// history, record, event or cache holds its clear text. It does not cover what else a tool says:
// errors, progress, challenges.
type Masking struct {
	// Path is a JSON pointer, as in Redaction.Allow, to a text that the output schema does not
	// restrict by pattern, format, length or list of values, or to a part of the output about which
	// the schema says nothing. Pawl masks all texts, numbers and names in that part, but no
	// booleans. Names of other objects are not masked.
	Path string `json:"path"`
	// With selects the parts of the texts to mask.
	With Masker `json:"with"`
}

// Masker is what a Masking replaces by Mask.
type Masker string

// Maskers find what is written in a text, in usual notations. MaskCard and MaskIBAN verify check
// digits. MaskPhone takes every number of at least 7 digits with the separators of phone numbers.
const (
	MaskAll   Masker = "all"
	MaskEmail Masker = "email"
	MaskCard  Masker = "card"
	MaskPhone Masker = "phone"
	MaskIBAN  Masker = "iban"
)

// maskRegex begins a Masker of a pattern.
const maskRegex = "regex:"

const (
	// maxMaskPattern bounds the pattern of a Masker, in bytes.
	maxMaskPattern = 512
	// maxMaskings bounds the maskings of a tool: each reads the output once.
	maxMaskings = 64
)

// MaskRegex returns the Masker of everything that pattern matches, in the syntax of RE2 and at most
// 512 bytes.
func MaskRegex(pattern string) Masker { return Masker(maskRegex + pattern) }

// separators may stand between the characters of numbers.
const separators = `[\s\p{Zs}.\-\x{2010}\x{2011}\x{2013}]{0,3}`

var (
	emailText = regexp.MustCompile(`(?:"[^"\n]{1,64}"|[^\s@＠<>"(),:;\[\]]+)(?:@|＠|%40|%2540|&#64;)` +
		`(?:\[[^\]\s]{1,64}\]|[^\s@<>"'(),:;\[\]]*[^\s@<>"'(),:;\[\].])`)
	phoneText = regexp.MustCompile(`\+?\(?[0-9\x{ff10}-\x{ff19}](?:[\s\p{Zs}().\-/\x{2010}\x{2011}\x{2013}]{0,4}[0-9\x{ff10}-\x{ff19}]){6,}`)
	cardText  = regexp.MustCompile(`[0-9\x{ff10}-\x{ff19}](?:` + separators + `[0-9\x{ff10}-\x{ff19}]){12,}`)
	ibanText  = regexp.MustCompile(`[A-Za-z]{2}[0-9]{2}(?:` + separators + `[A-Za-z0-9]){11,}`)
)

// Check reports why there is no such Masker.
func (m Masker) Check() error {
	_, err := m.finder()
	return err
}

// finder returns where the texts to mask are, in their order.
type finder func(text string) [][]int

// finder returns the finder of a Masker. It returns an error if there is no such Masker.
func (m Masker) finder() (finder, error) {
	all := func(re *regexp.Regexp) finder {
		return func(text string) [][]int { return re.FindAllStringIndex(text, -1) }
	}
	pattern, isRegex := strings.CutPrefix(string(m), maskRegex)
	switch {
	case m == MaskAll:
		return func(text string) [][]int { return [][]int{{0, len(text)}} }, nil
	case m == MaskEmail:
		return all(emailText), nil
	case m == MaskPhone:
		return all(phoneText), nil
	case m == MaskCard:
		return checked(cardText, 13, 19, isCard, true), nil
	case m == MaskIBAN:
		return checked(ibanText, 15, 34, isIBAN, false), nil
	case !isRegex:
		return nil, fmt.Errorf("%q is none of all, email, card, phone, iban and regex:PATTERN", string(m))
	case len(pattern) > maxMaskPattern:
		return nil, fmt.Errorf("the pattern has %d bytes, of at most %d", len(pattern), maxMaskPattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not one of RE2: %w", err)
	}
	if re.MatchString("") {
		return nil, fmt.Errorf("the pattern matches the empty text: write + instead of *")
	}
	return all(re), nil
}

// checked returns a finder. In each match of runs, it finds the parts of least to most characters,
// not counting separators, that right accepts. If whole is true, such a part begins and ends at a
// separator or at an end of the match.
func checked(runs *regexp.Regexp, least, most int, right func([]byte) bool, whole bool) finder {
	return func(text string) (found [][]int) {
		for _, run := range runs.FindAllStringIndex(text, -1) {
			var (
				compact []byte // without separators
				at      []int  // the index in text of each of its characters
			)
			for i, r := range text[run[0]:run[1]] {
				if r >= '０' && r <= '９' {
					r += '0' - '０'
				}
				if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
					compact, at = append(compact, byte(r)), append(at, run[0]+i)
				}
			}
			// parted reports whether a separator or the end of the run is before a character.
			parted := func(i int) bool {
				if !whole || i == 0 || i == len(compact) {
					return true
				}
				_, width := utf8.DecodeRuneInString(text[at[i-1]:])
				return at[i-1]+width < at[i]
			}
			for start := 0; start+least <= len(compact); start++ {
				if !parted(start) {
					continue
				}
				for size := min(most, len(compact)-start); size >= least; size-- {
					if parted(start+size) && right(compact[start:start+size]) {
						last := at[start+size-1]
						_, width := utf8.DecodeRuneInString(text[last:])
						found = append(found, []int{at[start], last + width})
						break
					}
				}
			}
		}
		return found
	}
}

// isCard reports whether the last digit is the check digit of ISO/IEC 7812-1.
func isCard(digits []byte) bool {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d = d*2%10 + d/5
		}
		sum += d
	}
	return sum%10 == 0
}

// isIBAN reports whether the check digits, the third and the fourth character, are those of ISO 13616.
func isIBAN(text []byte) bool {
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	if isDigit(text[0]) || isDigit(text[1]) || !isDigit(text[2]) || !isDigit(text[3]) {
		return false
	}
	rest := 0
	for i := range text {
		if c := text[(i+4)%len(text)]; isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			rest = (rest*100 + int(c|0x20-'a') + 10) % 97
		}
	}
	return rest == 1
}

// Masks are compiled maskings. The zero value masks nothing. It is safe for concurrent use.
type Masks []compiledMask

type compiledMask struct {
	pointer string
	path    []string
	find    finder
}

// Paths returns the path of each masking.
func (m Masks) Paths() []string {
	paths := make([]string, len(m))
	for i, one := range m {
		paths[i] = one.pointer
	}
	return paths
}

// CompileMasks compiles maskings. It returns an error for a path that is not a JSON pointer, and for
// an unknown Masker.
func CompileMasks(maskings ...Masking) (Masks, error) {
	masks := make(Masks, len(maskings))
	for i, m := range maskings {
		paths, err := splitPaths([]string{m.Path})
		if err != nil {
			return nil, err
		}
		masks[i].pointer, masks[i].path = m.Path, paths[0]
		if masks[i].find, err = m.With.finder(); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
	}
	return masks, nil
}

// apply masks v, which it may change.
func (m Masks) apply(v any) any {
	for _, one := range m {
		v = maskAt(v, one.path, one.find.mask)
	}
	return v
}

// maxMaskPasses bounds how often a text is searched.
const maxMaskPasses = 4

// mask returns a text with Mask in the place of what is found. A mask can make a pattern match what
// is beside it, so mask searches again until nothing is found, and masks the whole text if that takes
// more than maxMaskPasses searches. So a second call of mask changes nothing.
func (f finder) mask(text string) string {
	for range maxMaskPasses {
		masked := f.maskOnce(text)
		if masked == text {
			return text
		}
		text = masked
	}
	return Mask
}

// maskOnce replaces each match, with the stars beside it, by Mask. Matches that touch each other
// get one Mask.
func (f finder) maskOnce(text string) string {
	spans := joinSpans(f(text))
	for _, s := range spans {
		for s[0] > 0 && text[s[0]-1] == '*' {
			s[0]--
		}
		for s[1] < len(text) && text[s[1]] == '*' {
			s[1]++
		}
	}
	var b strings.Builder
	copied := 0
	for _, s := range joinSpans(spans) {
		b.WriteString(text[copied:s[0]])
		b.WriteString(Mask)
		copied = s[1]
	}
	return b.String() + text[copied:]
}

// joinSpans joins spans that touch or overlap, and leaves out empty spans. The spans are in the order
// of their beginnings.
func joinSpans(spans [][]int) (joined [][]int) {
	for _, s := range spans {
		last := len(joined) - 1
		switch {
		case s[0] == s[1]:
		case last >= 0 && s[0] <= joined[last][1]:
			joined[last][1] = max(joined[last][1], s[1])
		default:
			joined = append(joined, s)
		}
	}
	return joined
}

func maskAt(v any, path []string, mask func(string) string) any {
	if len(path) == 0 {
		return maskTexts(v, mask)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, child := range v {
			if path[0] == name || path[0] == "*" {
				v[name] = maskAt(child, path[1:], mask)
			}
		}
	case []any:
		for i, child := range v {
			if path[0] == "*" || path[0] == strconv.Itoa(i) {
				v[i] = maskAt(child, path[1:], mask)
			}
		}
	}
	return v
}

// maskTexts masks every text, number and name of a value.
func maskTexts(v any, mask func(string) string) any {
	switch v := v.(type) {
	case string:
		return mask(v)
	case json.Number:
		digits := written(v)
		if masked := mask(digits); masked != digits {
			return masked
		}
	case []any:
		for i, child := range v {
			v[i] = maskTexts(child, mask)
		}
	case map[string]any:
		return maskNames(v, mask)
	}
	return v
}

// written returns a number as it is written without an exponent, if it is an integer that could be
// the number of a card.
func written(n json.Number) string {
	if f, err := n.Float64(); err != nil || f < 1e6 || f > 1e20 || len(n) > 64 {
		return n.String()
	}
	if r, ok := new(big.Rat).SetString(n.String()); ok && r.IsInt() {
		return r.Num().String()
	}
	return n.String()
}

// numbered matches a name that maskNames has numbered, such as ***2.
var numbered = regexp.MustCompile(`^(.*\*\*\*)[0-9]{1,6}$`)

// maskNames masks the names and the values of an object. If several names are equal after masking,
// it numbers them: ***, ***2, ***3.
func maskNames(v map[string]any, mask func(string) string) map[string]any {
	out, last := make(map[string]any, len(v)), map[string]int{}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		kept := name
		if m := numbered.FindStringSubmatch(name); m != nil {
			kept = m[1]
		}
		if mask(kept) != kept {
			changed = append(changed, name)
			continue
		}
		out[name] = maskTexts(v[name], mask)
	}
	for _, name := range changed {
		masked := mask(name)
		free := masked
		for _, taken := out[free]; taken; _, taken = out[free] {
			last[masked]++
			free = masked + strconv.Itoa(last[masked]+1)
		}
		out[free] = maskTexts(v[name], mask)
	}
	return out
}

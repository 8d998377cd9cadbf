package toolspec

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Masking hides parts of the texts of an output. The texts leave the attempt masked, so no
// history, record, event or cache holds what was there.
type Masking struct {
	// Path is a JSON pointer, as in Redaction.Allow, to a text that the output schema does not
	// restrict by pattern, format, length or list of values, or to a part of the output that the
	// schema leaves open. There, all texts, numbers and names below it are masked.
	Path string `json:"path"`
	// With says what of the texts is masked.
	With Masker `json:"with"`
}

// Masker is what a Masking replaces by Mask.
type Masker string

// Maskers find what is written in a text. MaskCard and MaskIBAN verify check digits. MaskPhone
// takes every number of 7 to 15 digits with the separators of phone numbers.
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

var (
	emailText = regexp.MustCompile(`[^\s@<>"'(),:;\[\]]+(?:@|%40)[^\s@<>"'(),:;\[\]]*[^\s@<>"'(),:;\[\].]`)
	phoneText = regexp.MustCompile(`\+?\(?[0-9](?:[ ().\-/]{0,2}[0-9]){6,14}`)
	cardText  = regexp.MustCompile(`[0-9](?:[ -]?[0-9]){12,}`)
	ibanText  = regexp.MustCompile(`(?i)\b[a-z]{2}[0-9]{2}(?: ?[a-z0-9]){11,}`)
)

// mask returns the function that masks a text. It returns an error if there is no such Masker.
func (m Masker) mask() (func(string) string, error) {
	replace := func(re *regexp.Regexp) func(string) string {
		return func(text string) string { return re.ReplaceAllLiteralString(text, Mask) }
	}
	pattern, isRegex := strings.CutPrefix(string(m), maskRegex)
	switch {
	case m == MaskAll:
		return func(string) string { return Mask }, nil
	case m == MaskEmail:
		return replace(emailText), nil
	case m == MaskPhone:
		return replace(phoneText), nil
	case m == MaskCard:
		return func(text string) string {
			return cardText.ReplaceAllStringFunc(text, func(run string) string { return maskChecked(run, 13, 19, isCard) })
		}, nil
	case m == MaskIBAN:
		return func(text string) string {
			return ibanText.ReplaceAllStringFunc(text, func(run string) string { return maskChecked(run, 15, 34, isIBAN) })
		}, nil
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
		return nil, fmt.Errorf("the pattern matches the empty text")
	}
	return replace(re), nil
}

// maskChecked masks each part of a run, of least to most characters without separators, whose
// check digits are right. A part begins and ends at a separator or at an end of the run. The
// longest part counts.
func maskChecked(run string, least, most int, right func(string) bool) string {
	isSeparator := func(i int) bool { return i < 0 || i >= len(run) || run[i] == ' ' || run[i] == '-' }
	var (
		b      strings.Builder
		part   []byte // without separators
		copied int
	)
	for start := 0; start < len(run); start++ {
		if !isSeparator(start-1) || isSeparator(start) {
			continue
		}
		part, found := part[:0], 0
		for end := start; end < len(run) && len(part) < most; end++ {
			if isSeparator(end) {
				continue
			}
			part = append(part, run[end])
			if len(part) >= least && isSeparator(end+1) && right(string(part)) {
				found = end + 1
			}
		}
		if found > 0 {
			b.WriteString(run[copied:start] + Mask)
			copied, start = found, found-1
		}
	}
	return b.String() + run[copied:]
}

// isCard reports whether the last digit is the check digit of ISO/IEC 7812-1.
func isCard(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d = d*2%10 + d/5
		}
		sum += d
	}
	return sum%10 == 0
}

// isIBAN reports whether the check digits are those of ISO 13616.
func isIBAN(text string) bool {
	text = strings.ToUpper(text)
	rest := 0
	for _, c := range []byte(text[4:] + text[:4]) {
		switch {
		case c >= '0' && c <= '9':
			rest = (rest*10 + int(c-'0')) % 97
		case c >= 'A' && c <= 'Z':
			rest = (rest*100 + int(c-'A') + 10) % 97
		default:
			return false
		}
	}
	return rest == 1 && text[0] >= 'A' && text[1] >= 'A' && text[2] <= '9' && text[3] <= '9'
}

// apply masks what is at the path in v.
func (m Masking) apply(v any) (any, error) {
	paths, err := splitPaths([]string{m.Path})
	if err != nil {
		return nil, err
	}
	mask, err := m.With.mask()
	if err != nil {
		return nil, fmt.Errorf("redaction.maskOutput: %w", err)
	}
	return maskAt(v, paths[0], func(text string) string {
		// What is masked stays as it is, so that a second pass changes nothing.
		pieces := strings.Split(text, Mask)
		for i, piece := range pieces {
			if piece != "" {
				pieces[i] = mask(piece)
			}
		}
		return strings.Join(pieces, Mask)
	}), nil
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
			if path[0] == "*" {
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
		if masked := mask(v.String()); masked != v.String() {
			return masked
		}
	case []any:
		for i, child := range v {
			v[i] = maskTexts(child, mask)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			masked := mask(name)
			for _, taken := out[masked]; taken; _, taken = out[masked] {
				masked += Mask // two names may look alike now
			}
			out[masked] = maskTexts(v[name], mask)
		}
		return out
	}
	return v
}

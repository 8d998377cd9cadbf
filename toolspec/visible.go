package toolspec

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxIdentity bounds the name of an actor, a subject or an approver, in characters.
const MaxIdentity = 200

// CheckIdentity returns an error if id cannot name an actor, a subject or an approver. The
// rules are those of CheckVisible, with at most MaxIdentity characters.
func CheckIdentity(id string) error { return checkIdentity("the identity", id) }

func checkIdentity(field, id string) error { return CheckVisible(field, id, MaxIdentity) }

// CheckActorID returns an error unless id has the form user:NAME, agent:NAME or
// service:NAME and CheckIdentity accepts it. A role or a group is no actor.
func CheckActorID(id string) error { return checkActorID("the actor", id) }

func checkActorID(field, id string) error {
	if err := checkIdentity(field, id); err != nil {
		return err
	}
	kind, name, _ := strings.Cut(id, ":")
	if name != "" && (kind == "user" || kind == "agent" || kind == "service") {
		return nil
	}
	return fmt.Errorf("%s must be user:NAME, agent:NAME or service:NAME", field)
}

// CheckVisible returns an error for a text that a reader could confuse with another text, or
// read as several texts. The text must have 1 to maxLen characters of valid UTF-8. All
// characters must be visible, except for single ASCII spaces between them. field names the
// text in the error.
func CheckVisible(field, s string, maxLen int) error {
	if err := checkPrintable(field, s, maxLen); err != nil {
		return err
	}
	if strings.ContainsFunc(s, Invisible) {
		return fmt.Errorf("%s may hold no invisible characters", field)
	}
	if strings.Trim(s, " ") != s || strings.Contains(s, "  ") {
		return fmt.Errorf("%s may hold no spaces at its ends, and no two in a row", field)
	}
	return nil
}

// Invisible reports whether a character shows as nothing or as a space other than the ASCII
// space, or changes how its neighbours show. Such characters are control and format
// characters, for example those that change the direction of the text, and all other
// characters that Unicode allows a display to ignore.
func Invisible(r rune) bool {
	const braillePatternBlank = '\u2800'
	return !unicode.IsPrint(r) || r == braillePatternBlank ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Printable returns a text that may come from anybody in a form that logs, rows and terminals may have: with '.' in place
// of each invisible character, in at most limit bytes and an ellipsis.
func Printable(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if Invisible(r) {
			return '.'
		}
		return r
	}, strings.ToValidUTF8(s, "."))
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// Quoted returns a name in a form that output can show between other words. A name of only
// ASCII letters, digits and _ . : @ / - stays unchanged. Any other name becomes a Go string
// literal in double quotes, with all invisible characters escaped. An empty name stays empty.
func Quoted(name string) string {
	if name == "" {
		return ""
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.:@/-", r) {
			return quote(name)
		}
	}
	return name
}

func quote(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range name {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(name[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, name[i])
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r > 0xffff && Invisible(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		case Invisible(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

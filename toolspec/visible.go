package toolspec

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxIdentity bounds the name of an actor, a subject or an approver, in characters.
const MaxIdentity = 200

// CheckIdentity refuses what cannot name who acts or decides: see CheckVisible, with
// MaxIdentity.
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

// CheckVisible refuses a text that a reader could take for another one, or for more
// than one: it must be 1 to maxLen characters of UTF-8, all of them visible, with
// single ASCII spaces inside and none around. field says in the error what the text is.
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

// Invisible reports whether a character shows as nothing, as a space other than the
// ASCII one, or changes how its neighbours show: control and format characters, such as
// those that turn the direction, and everything else that Unicode lets a display
// ignore.
func Invisible(r rune) bool {
	const braillePatternBlank = '\u2800'
	return !unicode.IsPrint(r) || r == braillePatternBlank ||
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Quoted is a name for output in which it stands beside other words: as it is where it
// holds ASCII letters, digits and _ . : @ / - only, and else as a Go string literal in
// double quotes, with all that is not visible escaped.
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

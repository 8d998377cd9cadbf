package jsonschema

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// valueForm is the form of the value of a keyword, as in the meta-schemas.
type valueForm int

const (
	anyValue       valueForm = iota
	aText                    // a string
	aBool                    // true or false
	aNumber                  // a number
	positive                 // a number above zero
	aCount                   // an integer from zero on
	exclusiveBound           // a number; in draft-04 a boolean beside its bound
	aList                    // an array
	someValues               // an array that is not empty
	typeNames                // a type or a list of them
	nameList                 // an array of strings, each once
	nameLists                // an object of such arrays
	anAnchor                 // a plain name
)

var simpleTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// IsAnchor reports whether a name is valid for $anchor.
func IsAnchor(name string) bool { return anchorName.MatchString(name) }

var anchorName = regexp.MustCompile(`^[A-Za-z_][-A-Za-z0-9._]*$`)

// checkDraft checks every schema of the document against draft d. The value of each keyword must
// have the form that the meta-schema requires, and a word that looks like a misspelled rule is
// refused. declared reports that $schema names the draft.
func checkDraft(root *Node, d Draft, declared bool) error {
	return root.Walk(func(n *Node) error {
		for _, name := range n.Keywords() {
			k, known := vocabulary[name]
			var err error
			switch {
			case k.role == Unserved:
				err = Refuse(n.At.With(name), "%s is not supported, use $ref with a pointer", name)
			case known && (k.in(d) || name == "$defs" && declared):
				err = n.checkValue(name, k, d)
			case known && k.role == Annotates && !declared:
				err = n.checkValue(name, k, newest) // otherwise a mistake would select the draft
			case known && k.role == Annotates, name == "id":
				// The keyword has no meaning in this draft
			case known:
				err = Refuse(n.At.With(name), "%s is a keyword of %s, not of %s: there it has no effect", name, k.drafts(), d)
			default:
				err = n.checkUnknown(name)
			}
			if err != nil {
				return err
			}
		}
		return n.checkPlaces(d)
	})
}

// checkValue checks the value of a keyword against its form.
func (n *Node) checkValue(name string, k keyword, d Draft) error {
	at := n.At.With(name)
	value := n.Object[name]
	if reason := fault(k.value, value, d); reason != "" {
		return Refuse(at, "not what JSON Schema allows here: %s", reason)
	}
	switch members, isList := value.([]any); {
	case k.value == exclusiveBound && d == Draft04:
		if bound := "m" + name[len("exclusiveM"):]; n.Object[bound] == nil {
			return Refuse(at, "%s of draft-04 only says how %s is meant, which is missing", name, bound)
		}
	case (k.shape == list || k.shape == either) && isList && len(members) == 0:
		return Refuse(at, "not what JSON Schema allows here: an empty list")
	case k.shape == either && isList && d == Draft2020:
		return Refuse(at, "a list of schemas is items of older drafts: write prefixItems, or say the draft with $schema")
	case k.shape == depends:
		for _, name := range SortedNames(value) {
			if names, ok := value.(map[string]any)[name].([]any); ok {
				if reason := fault(nameList, names, d); reason != "" {
					return Refuse(at.With(name), "not what JSON Schema allows here: %s", reason)
				}
			}
		}
	}
	return nil
}

// FitsNewest reports whether 2020-12 allows the value for the keyword.
func FitsNewest(keyword string, value any) bool {
	return fault(vocabulary[keyword].value, value, newest) == ""
}

// fault returns the problem of a value, or "".
func fault(form valueForm, value any, d Draft) string {
	switch form {
	case anyValue:
		return ""
	case aText:
		if _, ok := value.(string); !ok {
			return "not a string"
		}
	case anAnchor:
		if text, ok := value.(string); !ok || !anchorName.MatchString(text) {
			return "not a plain name"
		}
	case aBool:
		if _, ok := value.(bool); !ok {
			return "not true or false"
		}
	case aNumber, positive, aCount:
		return numberFault(form, value)
	case exclusiveBound:
		if d == Draft04 {
			return fault(aBool, value, d)
		}
		return numberFault(aNumber, value)
	case aList, someValues:
		return listFault(form, value, d)
	case typeNames:
		return typeFault(value)
	case nameList:
		return namesFault(value, d)
	case nameLists:
		lists, ok := value.(map[string]any)
		if !ok {
			return "not an object"
		}
		for _, name := range SortedNames(value) {
			if reason := namesFault(lists[name], d); reason != "" {
				return reason
			}
		}
	}
	return ""
}

func numberFault(form valueForm, value any) string {
	number, ok := value.(json.Number)
	switch {
	case !ok:
		return "not a number"
	case form == aNumber:
		return ""
	}
	exact := strictjson.ParseDecimal(number.String())
	switch {
	case form == positive && (exact.Negative || exact.Digits == ""):
		return "not above zero"
	case form == aCount && (exact.Negative || !exact.IsInteger()):
		return "not a whole number from zero on"
	}
	return ""
}

func listFault(form valueForm, value any, d Draft) string {
	members, ok := value.([]any)
	switch {
	case !ok:
		return "not a list"
	case form == someValues && len(members) == 0:
		return "an empty list"
	case form == someValues && d == Draft04 && repeats(members):
		return "a value twice"
	}
	return ""
}

func repeats(members []any) bool {
	seen := map[string]bool{}
	for _, member := range members {
		key := keyOf(member)
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

func typeFault(value any) string {
	names, isList := value.([]any)
	if !isList {
		names = []any{value}
	}
	for i, name := range names {
		text, _ := name.(string)
		if !slices.Contains(simpleTypes, text) {
			return "not a type: array, boolean, integer, null, number, object, string"
		}
		if slices.Contains(names[:i], name) {
			return "a type twice"
		}
	}
	if len(names) == 0 {
		return "an empty list"
	}
	return ""
}

func namesFault(value any, d Draft) string {
	names, ok := value.([]any)
	if !ok {
		return "not a list of names"
	}
	seen := make(map[string]bool, len(names))
	for _, member := range names {
		name, ok := member.(string)
		switch {
		case !ok:
			return "not a list of names"
		case seen[name]:
			return "a name twice"
		}
		seen[name] = true
	}
	if len(names) == 0 && d == Draft04 {
		return "an empty list"
	}
	return ""
}

// checkPlaces refuses boolean schemas that draft-04 does not allow, and identifiers below the root,
// because they change the meaning of pointers below them.
func (n *Node) checkPlaces(d Draft) error {
	for _, s := range n.Subs {
		if d == Draft04 && s.To.Object == nil && s.Keyword != "additionalProperties" && s.Keyword != "additionalItems" {
			return Refuse(s.To.At, "true and false are no schemas in draft-04: write {} or {\"not\": {}}")
		}
	}
	if len(n.At) == 0 {
		return nil
	}
	name := "$id"
	if d == Draft04 {
		name = "id"
	}
	if id, ok := n.Text(name); ok && (!strings.HasPrefix(id, "#") || d >= Draft2019 || !anchorName.MatchString(id[1:])) {
		return Refuse(n.At.With(name), "only the root may have an %s: below it pointers would change their meaning", name)
	}
	return nil
}

// checkUnknown refuses a word that no draft has if it looks like a rule. Other unknown words are
// annotations.
func (n *Node) checkUnknown(name string) error {
	at := n.At.With(name)
	if strings.HasPrefix(strings.ToLower(name), "x-") {
		return nil
	}
	if reason, ok := foreign[name]; ok && n.Object[name] != false {
		return Refuse(at, "%s %s", strictjson.Printable(strictjson.Cut(name)), reason)
	}
	if meant := misspelled(name); meant != "" {
		return Refuse(at, "%s is no keyword: is %s meant? (Words of your own start with x-.)", strictjson.Printable(strictjson.Cut(name)), meant)
	}
	if looksLikeField(n.Object[name]) {
		return Refuse(at, "%s looks like a field: list it under properties", strictjson.Printable(strictjson.Cut(name)))
	}
	return nil
}

// looksLikeField reports whether a value looks like a schema.
func looksLikeField(value any) bool {
	object, _ := value.(map[string]any)
	kind, _ := object["type"].(string)
	return slices.Contains(simpleTypes, kind)
}

// CountOf returns a count that numberFault has accepted. A count that no instance can reach becomes
// the largest int32.
func CountOf(value any) (int, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(number.String(), 64)
	if err != nil {
		return 0, false
	}
	return int(min(f, math.MaxInt32)), true
}

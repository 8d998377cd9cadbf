package jsonschema

import (
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

const (
	// MaxDocumentBytes bounds a schema document.
	MaxDocumentBytes = 256 << 10

	maxPatternBytes  = 4 << 10 // one pattern as written
	maxPatternProg   = 5_000   // instructions of one compiled pattern
	maxPatternsTotal = 50_000  // instructions of all patterns of a document
)

// read parses a document within the bounds, and checks the rules that are the same in all drafts. The root must be an object schema,
// unless anyValue is true.
func read(doc json.RawMessage, anyValue bool) (*Node, error) {
	if len(doc) > MaxDocumentBytes {
		return nil, Refuse(nil, "larger than %d KiB", MaxDocumentBytes>>10)
	}
	t, fault := strictjson.Read(doc)
	defer t.Release()
	if fault != nil {
		return nil, &Refusal{Pointer: fault.Path.Short(), Reason: fault.Error()}
	}
	root, err := parseNode(t.Value(0), nil, false)
	if err != nil {
		return nil, err
	}
	root.readOrder(t, 0)
	if err := root.translate(); err != nil {
		return nil, err
	}
	switch {
	case root.Object == nil && anyValue:
		return nil, Refuse(nil, "the root must be an object: write {} for true")
	case root.Object == nil, root.Object["type"] != "object" && !anyValue:
		return nil, Refuse(nil, `the root must say "type": "object" and list its fields under "properties"`)
	}
	return root, root.Walk(checkKeywords)
}

// checkKeywords refuses $schema below the root, and $ref at the root.
func checkKeywords(n *Node) error {
	if _, declared := n.Object["$schema"]; declared && len(n.At) > 0 {
		return Refuse(n.At.With("$schema"), "only the root may name a dialect")
	}
	if _, ref := n.Object["$ref"]; ref && len(n.At) == 0 {
		return Refuse(n.At.With("$ref"), "the root must list its fields itself: older drafts ignore what stands beside $ref")
	}
	return nil
}

// checkPatterns refuses regular expressions that RE2 does not know or that are
// costly to build or run. RE2 is linear in the text, but not free: a repeated
// group of thousands of instructions is paid for each byte.
func checkPatterns(root *Node) error {
	total := 0
	return root.Walk(func(n *Node) error {
		var patterns []string
		if p, ok := n.Text("pattern"); ok {
			patterns = append(patterns, p)
		}
		for _, s := range n.Subs {
			if s.Keyword == "patternProperties" {
				patterns = append(patterns, s.Name)
			}
		}
		for _, p := range patterns {
			if only := notECMA(p); only != "" {
				return Refuse(n.At, "pattern: %s does not mean in ECMA-262 what it means here", only)
			}
			size, err := programSize(p)
			if err != nil {
				return Refuse(n.At, "pattern is not RE2 or too long: lookaround and back references do not exist in it")
			}
			n.program += size
			if total += size; size > maxPatternProg || total > maxPatternsTotal {
				return Refuse(n.At, "patterns are too costly: shorten their repetitions")
			}
		}
		return nil
	})
}

func programSize(pattern string) (int, error) {
	if len(pattern) > maxPatternBytes {
		return 0, &syntax.Error{Code: syntax.ErrLarge}
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(prog.Inst), nil
}

// notECMA finds syntax that RE2 takes and that JSON Schema's dialect of regular
// expressions (ECMA-262) reads otherwise, or "".
func notECMA(pattern string) string {
	for i := 0; i < len(pattern)-1; i++ {
		switch two := pattern[i : i+2]; {
		case two[0] == '\\':
			if strings.ContainsRune("AzQEC", rune(two[1])) {
				return two
			}
			i++
		case two == "(?" && i+2 < len(pattern) && !strings.ContainsRune(":=!<", rune(pattern[i+2])):
			return "(?" + pattern[i+2:i+3]
		}
	}
	return posixClass.FindString(pattern)
}

var posixClass = regexp.MustCompile(`\[[^\]]*\[:\^?[a-z]+:\]`)

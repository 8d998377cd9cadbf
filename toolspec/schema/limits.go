package schema

import (
	"encoding/json"
	"regexp"
	"regexp/syntax"
	"strings"
)

const (
	// MaxDocumentBytes bounds a schema document.
	MaxDocumentBytes = 256 << 10

	maxPatternBytes  = 4 << 10 // one pattern as written
	maxPatternProg   = 5_000   // instructions of one compiled pattern
	maxPatternsTotal = 50_000  // instructions of all patterns of a document
)

// read parses a document within the bounds and checks what holds for every
// document, whether it will be compiled or only looked at.
func read(doc json.RawMessage) (*node, error) {
	if len(doc) > MaxDocumentBytes {
		return nil, refuse(nil, "larger than %d KB", MaxDocumentBytes>>10)
	}
	if problem := CheckJSON(doc); problem != nil {
		return nil, &Refusal{Pointer: problem.Path, Reason: problem.Message}
	}
	root, err := parse(doc)
	if err != nil {
		return nil, err
	}
	if root.object == nil || root.object["type"] != "object" {
		return nil, refuse(nil, `the root must say "type": "object" and list its fields under "properties"`)
	}
	return root, root.walk(checkKeywords)
}

// checkKeywords refuses what holds of no draft that is served, so that it also
// holds for documents that are only looked at.
func checkKeywords(n *node) error {
	if _, declared := n.object["$schema"]; declared && len(n.at) > 0 {
		return refuse(n.at.with("$schema"), "only the root may name a dialect")
	}
	if _, ref := n.object["$ref"]; ref && len(n.at) == 0 {
		return refuse(n.at.with("$ref"), "the root must list its fields itself: older drafts ignore what stands beside $ref")
	}
	return nil
}

// checkPatterns refuses regular expressions that RE2 does not know or that are
// costly to build or run. RE2 is linear in the text, but not free: a repeated
// group of thousands of instructions is paid for each byte.
func checkPatterns(root *node) error {
	total := 0
	return root.walk(func(n *node) error {
		var patterns []string
		if p, ok := n.text("pattern"); ok {
			patterns = append(patterns, p)
		}
		for _, s := range n.subs {
			if s.keyword == "patternProperties" {
				patterns = append(patterns, s.token)
			}
		}
		for _, p := range patterns {
			if only := notECMA(p); only != "" {
				return refuse(n.at, "pattern: %s does not mean in ECMA-262 what it means here", only)
			}
			size, err := programSize(p)
			if err != nil {
				return refuse(n.at, "pattern is not RE2 or too long: lookaround and back references do not exist in it")
			}
			n.program += size
			if total += size; size > maxPatternProg || total > maxPatternsTotal {
				return refuse(n.at, "patterns are too costly: shorten their repetitions")
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

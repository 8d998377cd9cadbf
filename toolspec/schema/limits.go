package schema

import (
	"encoding/json"
	"regexp/syntax"
	"slices"
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

// checkKeywords refuses what the validator would ignore or resolve elsewhere
// than a reader expects.
func checkKeywords(n *node) error {
	for _, keyword := range []string{"$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "$vocabulary"} {
		if _, ok := n.object[keyword]; ok {
			return refuse(n.at.with(keyword), "%s is not supported, use $ref with a pointer", keyword)
		}
	}
	dialect, declared := n.object["$schema"]
	switch {
	case declared && len(n.at) > 0:
		return refuse(n.at.with("$schema"), "only the root may name a dialect")
	case declared && !knownDialect(dialect):
		return refuse(n.at.with("$schema"), "dialect is not one of draft-06, draft-07, 2019-09, 2020-12")
	}
	if _, ok := n.object["$id"]; ok && len(n.at) > 0 {
		return refuse(n.at.with("$id"), "only the root may have an $id: below it pointers would change their meaning")
	}
	if _, ok := n.object["$defs"]; ok && n.object["definitions"] != nil {
		return refuse(n.at.with("definitions"), "use either $defs or definitions: beside $defs these are ignored")
	}
	_, ref := n.object["$ref"]
	if ref && len(n.at) == 0 {
		return refuse(n.at.with("$ref"), "the root must list its fields itself: older drafts ignore what stands beside $ref")
	}
	return nil
}

func knownDialect(dialect any) bool {
	uri, _ := dialect.(string)
	uri = strings.TrimPrefix(strings.TrimSuffix(uri, "#"), "https:")
	return slices.Contains([]string{
		"//json-schema.org/draft-06/schema", "//json-schema.org/draft-07/schema",
		"//json-schema.org/draft/2019-09/schema", "//json-schema.org/draft/2020-12/schema",
	}, strings.TrimPrefix(uri, "http:"))
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

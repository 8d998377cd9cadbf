package condition

import (
	"fmt"
	"regexp"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"

	"github.com/pawl-run/pawl/policy/suggest"
)

// Fault is a fault of a condition. Line and column count from 1 within its text; 0 means the
// whole text.
type Fault struct {
	Line, Column int
	Reason       string
}

// faultAt returns a fault of one part of an expression.
func faultAt(tree *ast.AST, id int64, reason string) Fault {
	at := tree.SourceInfo().GetStartLocation(id)
	return Fault{Line: at.Line(), Column: at.Column() + 1, Reason: reason}
}

var (
	undeclared = regexp.MustCompile(`^undeclared reference to '([^']*)'`)
	undefined  = regexp.MustCompile(`^undefined field '([^']*)'`)
	notWalked  = regexp.MustCompile(`^expression of type '[^']*' cannot be range of a comprehension`)
	overload   = regexp.MustCompile(`^found no matching overload for '([^']*)' applied to '([^']*)'`)
	objectName = regexp.MustCompile(`pawl[.]object[0-9]+`)
)

// translateIssues translates the errors of the CEL library into faults. missing returns the message for
// an unknown field; it is nil if the fields are not known.
func translateIssues(text string, issues *cel.Issues, missing func(field string) string) []Fault {
	var faults []Fault
	for _, issue := range issues.Errors() {
		reason, _, _ := strings.Cut(oneLine(issue.Message), " expecting {")
		column := issue.Location.Column() + 1
		if m := undeclared.FindStringSubmatch(reason); m != nil {
			reason = unknownName(m[1])
			// The library reports the position of a function's parenthesis.
			if before := beforeColumn(text, issue.Location.Line(), column); strings.HasSuffix(before, m[1]) {
				column -= len([]rune(m[1]))
			}
		} else if m := undefined.FindStringSubmatch(reason); m != nil && missing != nil {
			reason = missing(m[1])
			column++ // the library reports the position of the dot
		} else if notWalked.MatchString(reason) {
			reason = "only a list or a map can be walked; an object can as dyn(…)"
		} else if m := overload.FindStringSubmatch(reason); m != nil {
			reason = fmt.Sprintf("%s cannot be applied to %s", strings.Trim(m[1], "_@"), m[2])
		}
		reason = objectName.ReplaceAllString(reason, "object")
		faults = append(faults, Fault{Line: max(issue.Location.Line(), 0), Column: max(column, 1), Reason: reason})
	}
	return faults
}

// unknownName returns the message for a name that is neither a variable nor a function: with the most similar
// known name, or with all variables.
func unknownName(name string) string {
	known := append(variableNames(), argsName)
	for function := range looseEnv().Functions() {
		if !strings.ContainsAny(function, "@_!-") {
			known = append(known, function)
		}
	}
	if like := suggest.Nearest(name, known); like != "" {
		return fmt.Sprintf("%s is not known here; did you mean %s?", name, like)
	}
	return fmt.Sprintf("%s is not known here; known are %s, %s", name, argsName, strings.Join(variableNames(), ", "))
}

// beforeColumn returns the text before a column of a line. Both count from 1.
func beforeColumn(text string, line, column int) string {
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	runes := []rune(lines[line-1])
	return string(runes[:min(max(column-1, 0), len(runes))])
}

// oneLine returns a message of the library without line breaks.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

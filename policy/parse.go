package policy

import (
	"github.com/pawl-run/pawl/policy/condition"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/strictyaml"
)

// Parse reads a policy document of at most document.MaxDocument bytes, in YAML or its subset JSON,
// and compiles it. The file name is only used in errors. The error is a strictyaml.Errors, and
// every *strictyaml.Error in it has a position.
func Parse(file string, doc []byte) (*Policy, error) {
	return compileDocument(document.Decode(file, doc))
}

// ParseRecorded is Parse for a document that this or an earlier version of Parse has accepted.
// Its identities may have forms that Parse refuses now.
func ParseRecorded(file string, doc []byte) (*Policy, error) {
	return compileDocument(document.DecodeRecorded(file, doc))
}

func compileDocument(doc document.Document, faults strictyaml.Errors) (*Policy, error) {
	var c compiler
	p := c.compile(doc)
	if faults = append(faults, c.faults...); len(faults) > 0 {
		return nil, faults.Sorted()
	}
	return p, nil
}

// ConditionFault returns a fault of the condition of a rule, at its position in the file. at is the
// position of the condition, rule the path of the rule.
func ConditionFault(at strictyaml.Position, f condition.Fault, rule string) *strictyaml.Error {
	line, column := at.Within(f.Line, f.Column)
	return &strictyaml.Error{File: at.File, Line: line, Column: column, Path: rule + ".when", Reason: f.Reason}
}

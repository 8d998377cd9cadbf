package policy

import (
	_ "embed"
	"fmt"
)

//go:embed development.yaml
var developmentYAML string

// Development is the shipped policy for a developer's own machine: tenant acme
// may use core__*, and unsigned decisions count. It is never active by itself.
func Development() *Policy {
	p, err := Parse("development.yaml", []byte(developmentYAML))
	if err != nil {
		panic(fmt.Sprintf("policy: the embedded policy is faulty: %v", err)) // a test parses it
	}
	return p
}

// DevelopmentYAML is the text of that policy with its comments, to start an own
// one from.
func DevelopmentYAML() string { return developmentYAML }

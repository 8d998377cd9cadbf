package policy

import (
	_ "embed"
	"fmt"
)

//go:embed development.yaml
var developmentYAML string

// Development returns the shipped policy for a developer's own machine: tenant acme may use
// core__*, and unsigned decisions count. No policy is active until somebody activates it.
func Development() *Policy {
	p, err := Parse("development.yaml", []byte(developmentYAML))
	if err != nil {
		panic(fmt.Sprintf("policy: the embedded policy is faulty: %v", err)) // a test parses the policy
	}
	return p
}

// DevelopmentYAML returns the text of the policy that Development returns, with its comments, as a
// start for a policy file.
func DevelopmentYAML() string { return developmentYAML }

package broker

import "github.com/pawl-run/pawl/toolspec/capability"

// Secret holds a credential and refuses to print or marshal it.
type Secret = capability.Secret

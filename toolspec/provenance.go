package toolspec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode"
)

// HydrationOutcome is how one hydration ended: success, or the stage that refused
// the arguments.
type HydrationOutcome string

// The outcomes of a hydration, in the order of its stages.
const (
	HydrationSuccess     HydrationOutcome = "success"
	HydrationParse       HydrationOutcome = "parse"
	HydrationValidate    HydrationOutcome = "validate"
	HydrationInstantiate HydrationOutcome = "instantiate"
)

// Provenance says where the arguments of a call come from and what was done to
// make them usable. It is kept of every hydration, also of those that failed,
// and holds no value that may not be shown: see Original.
type Provenance struct {
	Outcome HydrationOutcome `json:"outcome"`
	// Provider, ProviderToolID and ProviderCallID are what the model's provider
	// called itself, the tool and the call; empty if it is not known. They are
	// evidence and decide nothing.
	Provider       string `json:"provider,omitempty"`
	ProviderToolID string `json:"providerToolId,omitempty"`
	ProviderCallID string `json:"providerCallId,omitempty"`
	// SourceDigest and SourceBytes identify the provider's own piece of the
	// response: hexadecimal SHA-256 of its bytes, and how many.
	SourceDigest string `json:"sourceDigest,omitempty"`
	SourceBytes  int    `json:"sourceBytes,omitempty"`
	// ToolID is the registered tool, ToolDigest its contract and SchemaHash the
	// schema that the arguments were checked against.
	ToolID     string `json:"toolId,omitempty"`
	ToolDigest string `json:"toolDigest,omitempty"`
	SchemaHash string `json:"schemaHash,omitempty"`
	// OriginalDigest and OriginalBytes identify the arguments byte for byte as they
	// were given: hexadecimal SHA-256, and how many. The bytes themselves stand in
	// the input of the workflow, and nowhere else.
	OriginalDigest string `json:"originalDigest,omitempty"`
	OriginalBytes  int    `json:"originalBytes"`
	// Original is the shape of the given arguments, if Pawl refused or repaired
	// them: the names and types of JSON, or the punctuation of a text that is no
	// JSON. It holds no value, because values of refused arguments cannot be
	// redacted by path. The record of the call has the accepted arguments, redacted.
	Original string `json:"original,omitempty"`
	// Tolerances names the faults that the parser ignored, and Repairs the faults that were repaired.
	Tolerances []string `json:"tolerances,omitempty"`
	Repairs    []string `json:"repairs,omitempty"`
	// Repairer names the repairer that tried a repair, even if the repair did not help. It is empty if
	// none tried.
	Repairer string `json:"repairer,omitempty"`
	Repaired bool   `json:"repaired,omitempty"`
	// Validator is nil if nothing was checked against a schema.
	Validator *ValidatorInfo `json:"validator,omitempty"`
	// Problems are the faults of the given arguments, also if they were repaired.
	Problems []ProblemAt `json:"problems,omitempty"`
	// DurationUs is the time of the whole hydration, in microseconds.
	DurationUs int64 `json:"durationUs,omitempty"`
}

// ProblemAt is a Problem without its sentence.
type ProblemAt struct {
	Path string `json:"path,omitempty"`
	Kind string `json:"kind"`
}

// ValidatorInfo names a validator.
type ValidatorInfo struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	// CompiledAt is startup or hydration.
	CompiledAt string `json:"compiledAt,omitempty"`
}

// When a validator was compiled.
const (
	CompiledAtStartup   = "startup"
	CompiledAtHydration = "hydration"
)

// ProviderCall is what a provider's own piece of a response says about a call.
type ProviderCall struct {
	Provider, ToolID, CallID string
	Source                   json.RawMessage
}

// maxProviderText bounds what is kept of a provider's names, in bytes.
const maxProviderText = 128

// From sets the provider's names of itself, the tool and the call, and the digest of its own form of
// the call. A name with the shape of a credential becomes ***, because providers may put anything
// into their ids.
func (p *Provenance) From(c ProviderCall) {
	p.Provider, p.ProviderToolID, p.ProviderCallID = providerText(c.Provider), providerText(c.ToolID), providerText(c.CallID)
	if len(c.Source) > 0 {
		sum := sha256.Sum256(c.Source)
		p.SourceDigest, p.SourceBytes = hex.EncodeToString(sum[:]), len(c.Source)
	}
}

func providerText(s string) string {
	if SecretValue(s) {
		return Mask
	}
	if len(s) > maxProviderText {
		s = strings.ToValidUTF8(s[:maxProviderText], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '.'
		}
		return r
	}, strings.ToValidUTF8(s, "."))
}

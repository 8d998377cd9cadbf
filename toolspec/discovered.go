package toolspec

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Bounds of the text that a server gives for a tool.
const (
	// MaxOwnName bounds the name of a discovered tool at its server, in characters.
	MaxOwnName = 128
	// MaxAnnotations bounds what a server says about a discovered tool beside its definition, in bytes.
	MaxAnnotations = 4096
)

// Discovered ties a tool that a server offers to the review of a person (MCP_UNTRUSTED_BY_DEFAULT).
// Policy denies the calls of such a tool unless it has a review with both digests.
type Discovered struct {
	// Digest is the hexadecimal SHA-256 of the definition as the server gave it: name, title,
	// description, schemas and annotations.
	Digest string `json:"digest"`
	// Review is the digest of the review in policy from which this definition has its effect, risk and
	// redaction. It is empty if there is no review.
	Review string `json:"review,omitempty"`
	// Name is the tool's own name at the server: at most MaxOwnName visible characters. Reviews are under this name.
	Name string `json:"name,omitempty"`
	// Annotations are the hints of the server as it gave them, for the reviewer: JSON of at most MaxAnnotations bytes.
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// Digests returns a copy of d that has only the two digests, as calls carry it. It returns nil for
// nil.
func (d *Discovered) Digests() *Discovered {
	if d == nil {
		return nil
	}
	return &Discovered{Digest: d.Digest, Review: d.Review}
}

// Clone returns a copy of d, or nil for nil.
func (d *Discovered) Clone() *Discovered {
	if d == nil {
		return nil
	}
	c := *d
	c.Annotations = slices.Clone(d.Annotations)
	return &c
}

func (d *Discovered) check() error {
	switch {
	case d == nil:
		return nil
	case d.Digest == "":
		return fmt.Errorf("discovered.digest is missing")
	case len(d.Annotations) > MaxAnnotations:
		return fmt.Errorf("discovered.annotations has more than %d bytes", MaxAnnotations)
	case len(d.Annotations) > 0 && !json.Valid(d.Annotations):
		return fmt.Errorf("discovered.annotations is no JSON")
	case d.Name == "":
		return nil
	}
	return CheckVisible("discovered.name", d.Name, MaxOwnName)
}

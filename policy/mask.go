package policy

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
)

// mask is one compiled entry.
type mask struct {
	tool  document.Pattern
	masks toolspec.Masks
}

func compileMask(doc document.Mask) mask {
	if doc.With == "" { // the document has a fault, and its policy is not used
		return mask{tool: doc.Tool}
	}
	masks, err := toolspec.CompileMasks(toolspec.Masking{Path: doc.Path, With: doc.With})
	if err != nil {
		panic(fmt.Sprintf("policy: a mask that was read does not compile: %v", err))
	}
	return mask{tool: doc.Tool, masks: masks}
}

// Masks returns what policy masks in the outputs of a tool, in the order of the document.
func (p *Policy) Masks(tenantID, toolID string) toolspec.Masks {
	t := p.tenant(tenantID)
	if t == nil {
		return nil
	}
	var masks []toolspec.Masks
	for _, m := range t.masks {
		if m.tool.Matches(toolID) {
			masks = append(masks, m.masks)
		}
	}
	return slices.Concat(masks...)
}

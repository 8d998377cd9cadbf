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
	// stream is nil for a mask of values.
	stream *toolspec.StreamMasker
}

// compileMask compiles one entry: to stream for a mask of text streams, and to masks for a mask of values. For a
// faulty entry the mask has neither.
func compileMask(doc document.Mask) mask {
	if doc.With == "" { // the document has a fault, and its policy is not used
		return mask{tool: doc.Tool}
	}
	if doc.Stream {
		stream, err := toolspec.CompileStreamMasks(doc.With)
		if err != nil && doc.With != toolspec.MaskAll { // the document has a fault
			panic(fmt.Sprintf("policy: a mask that was read does not compile: %v", err))
		}
		return mask{tool: doc.Tool, stream: stream}
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

// StreamMasker returns what policy masks in the text streams of a tool, or nil if it masks nothing there.
func (p *Policy) StreamMasker(tenantID, toolID string) *toolspec.StreamMasker {
	t := p.tenant(tenantID)
	if t == nil {
		return nil
	}
	var all *toolspec.StreamMasker
	for _, m := range t.masks {
		if m.tool.Matches(toolID) {
			all = all.With(m.stream)
		}
	}
	return all
}

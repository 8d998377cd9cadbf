package turn

import (
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// trimmed replaces an output that was trimmed. The answer itself also has the reference of the whole value.
type trimmed struct {
	Truncated bool `json:"truncated"`
	// Bytes is the size of the replaced output.
	Bytes     int    `json:"bytes"`
	OutputRef string `json:"output_ref,omitempty"`
	More      string `json:"more"`
}

const (
	// howToRead says in an answer how a model gets an output that was trimmed.
	howToRead = "trimmed to save space: core__tool_output_cache and core__tool_output_cache_grep read the output, with this output_ref as ref_id"
	// isGone says in an answer that a failure was trimmed. Failures are not stored.
	isGone = "trimmed to save space: the failure is not stored"
	// isElsewhere says in an answer that an output of another run was trimmed.
	isElsewhere = "trimmed to save space: this run cannot read the output"
	// maxTrimmed bounds the JSON of trimmed, in bytes.
	maxTrimmed = 1 << 10
)

// Trim returns the conversation with its oldest outputs of tools replaced by references, until all outputs together have at most keep
// bytes of JSON. The newest output stays whole, also if it alone is larger, and an output that is not larger than its reference stays.
// Nothing else of the conversation changes: each call keeps its answer, so that the result can be written in every format
// (conversation.Encode). Trim of its own result changes nothing. keep of 0 or less trims all outputs but the newest.
//
// A part with an OutputRef keeps it. Every other part gets the toolspec.ResultRef of the call in the tenant and run of t.Context; its
// ToolCallID must be that of the Outcome. A failure has no reference, because failures have no stored value. The model reads an output
// again with the tool core__tool_output_cache, which the offer must have.
func (t Turn) Trim(c conversation.Conversation, keep int) conversation.Conversation {
	sum := 0
	var outputs []*conversation.Part
	c.Messages = slices.Clone(c.Messages)
	for i, m := range c.Messages {
		if !slices.ContainsFunc(m.Content, isOutput) {
			continue
		}
		c.Messages[i].Content = slices.Clone(m.Content)
		for j := range c.Messages[i].Content {
			if part := &c.Messages[i].Content[j]; isOutput(*part) {
				outputs, sum = append(outputs, part), sum+len(part.Result)
			}
		}
	}
	for i, part := range outputs {
		if sum <= keep || i == len(outputs)-1 {
			break
		}
		before := len(part.Result)
		t.trimPart(part)
		sum += len(part.Result) - before
	}
	return c
}

func isOutput(p conversation.Part) bool { return p.Type == conversation.ToolResult }

// TrimAnswer replaces the output of an answer and its parts by a reference, as Trim does, if the reference is
// smaller. ref is the toolspec.ResultRef of the call, whose stored result has the whole output. ref is empty if
// the conversation does not belong to the run of the call.
func TrimAnswer(a wire.Answer, ref string) wire.Answer {
	if a.OutputRef != "" {
		ref = a.OutputRef
	}
	noRef := isElsewhere
	if a.IsError {
		ref, noRef = "", isGone
	}
	size := len(a.Content)
	for _, part := range a.Parts {
		size += len(part.Data)
	}
	if content, ok := trimOutput(a.Content, size, ref, noRef); ok {
		a.Content, a.OutputRef, a.Parts = content, ref, nil
	}
	return a
}

// trimPart replaces the result of p by its reference, or by the note isGone if p is a failure without a reference. It changes
// nothing if the replacement is not smaller.
func (t Turn) trimPart(p *conversation.Part) {
	ref := p.OutputRef
	if ref == "" && !p.IsError {
		ref = toolspec.ResultRef(toolspec.Identity{TenantID: t.Context.TenantID, RunID: t.Context.RunID, ToolCallID: p.ToolCallID}.InvocationID())
	}
	if text, ok := trimOutput(p.Result, len(p.Result), ref, isGone); ok {
		p.Result, p.OutputRef = text, ref
	}
}

// trimOutput returns the JSON that replaces an output: ref, and how the model reads the output with it. If ref is
// empty, the JSON has the text noRef instead. size is the number of bytes of the output and of the parts beside
// it. ok is false if the output was trimmed before, or if the JSON is not smaller.
func trimOutput(output json.RawMessage, size int, ref, noRef string) (replacement json.RawMessage, ok bool) {
	if isTrimmed(output) {
		return nil, false
	}
	by := trimmed{Truncated: true, Bytes: size, More: noRef}
	if ref != "" {
		by.OutputRef, by.More = ref, howToRead
	}
	replacement, err := strictjson.Encode(by)
	return replacement, err == nil && len(replacement) < size
}

// isTrimmed reports whether an output was trimmed before.
func isTrimmed(result json.RawMessage) bool {
	var by trimmed
	return len(result) <= maxTrimmed && json.Unmarshal(result, &by) == nil && by.Truncated && (by.More == howToRead || by.More == isGone || by.More == isElsewhere)
}

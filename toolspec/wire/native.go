package wire

import (
	"cmp"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
)

// NativeCall reads the id and the name of a call from the provider's own form of it. A field
// that none of the published formats has stays empty. The names are evidence for the record;
// they decide nothing.
func NativeCall(p toolspec.Provider) toolspec.ProviderCall {
	c := toolspec.ProviderCall{Provider: p.Name, Source: p.ToolCall}
	var native struct {
		ID       string `json:"id"`
		CallID   string `json:"call_id"`
		Name     string `json:"name"`
		Function *struct {
			Name string `json:"name"`
		} `json:"function"`
		FunctionCall *struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		} `json:"functionCall"`
	}
	if json.Unmarshal(p.ToolCall, &native) != nil {
		return c
	}
	c.ToolID, c.CallID = native.Name, cmp.Or(native.CallID, native.ID)
	if native.Function != nil {
		c.ToolID = cmp.Or(native.Function.Name, c.ToolID)
	}
	if f := native.FunctionCall; f != nil {
		c.ToolID, c.CallID = cmp.Or(f.Name, c.ToolID), cmp.Or(f.ID, c.CallID)
	}
	return c
}

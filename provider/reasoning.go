package provider

import (
	"bytes"
	"encoding/json"
)

// withoutLost returns the items of a request in the format responses, without the reasoning that has no encrypted
// content. A model that reasons without being asked to sends such reasoning. The provider stores nothing, so it
// does not know the reasoning any more and would refuse the item. The ids of the other items refer to such
// reasoning, so they are removed too.
func (r Request) withoutLost() []json.RawMessage {
	if store := r.Members["store"]; store != nil && !bytes.Equal(bytes.TrimSpace(store), []byte("false")) {
		return r.Messages
	}
	var kept []json.RawMessage
	for _, m := range r.Messages {
		var item struct {
			Type      string
			Encrypted string `json:"encrypted_content"`
		}
		if json.Unmarshal(m, &item) == nil && item.Type == "reasoning" && item.Encrypted == "" {
			continue
		}
		kept = append(kept, m)
	}
	if len(kept) == len(r.Messages) {
		return r.Messages
	}
	for i, m := range kept {
		kept[i] = withoutID(m)
	}
	return kept
}

// withoutID returns a message or a call without its id. Another item stays as it is.
func withoutID(raw json.RawMessage) json.RawMessage {
	var item map[string]json.RawMessage
	if json.Unmarshal(raw, &item) != nil || item["id"] == nil {
		return raw
	}
	if kind := string(item["type"]); kind != `"message"` && kind != `"function_call"` {
		return raw
	}
	delete(item, "id")
	short, err := json.Marshal(item)
	if err != nil {
		return raw
	}
	return short
}

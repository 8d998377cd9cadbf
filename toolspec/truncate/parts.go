package truncate

import (
	"encoding/base64"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
)

// shortParts returns parts in about room bytes. Parts lose their data, the largest first, then the ends
// of texts, then the last parts are left out. A part without its data has the size of the data. The last
// part says what the list is.
func shortParts(parts toolspec.Parts, room int, ref string) toolspec.Parts {
	parts = slices.Clone(parts)
	order := make([]int, len(parts))
	size := 0
	for i, part := range parts {
		order[i] = i
		size += sizeOf(part)
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(parts[b].Data) - len(parts[a].Data) })
	for _, i := range order {
		if part := &parts[i]; size > room && len(part.Data) > 0 {
			size -= base64.StdEncoding.EncodedLen(len(part.Data))
			part.Bytes, part.Data = int64(len(part.Data)), nil
		}
	}
	left := room
	for i := range parts {
		part := &parts[i]
		if rest := sizeOf(*part) - len(part.Text); rest > left {
			parts = parts[:i]
			break
		}
		part.Text = Text(part.Text, min(len(part.Text), max(left-sizeOf(*part)+len(part.Text), 0)), false, ref)
		left = max(left-sizeOf(*part), 0)
	}
	return append(parts, toolspec.Part{Type: toolspec.PartText, Text: Marker + " this is a part of the result; " + more(ref)})
}

// sizeOf is about the size of a part as JSON.
func sizeOf(p toolspec.Part) int {
	const names = 64
	return names + len(p.Text) + base64.StdEncoding.EncodedLen(len(p.Data)) + len(p.MediaType) + len(p.OutputRef) + len(p.URI) + len(p.Name)
}

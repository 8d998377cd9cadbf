package arch_test

import (
	"fmt"
	"slices"
	"strings"
)

// streamWriter is the package that writes the public stream of a run.
const streamWriter = "client/uistream"

// streamWords name the stream, its header field and its parts. Words such as start and finish are
// left out: other code uses them too.
var streamWords = []string{
	"text/event-stream", "x-vercel-ai-ui-message-stream", "text-start", "text-delta", "text-end", "tool-input-start", "tool-input-delta",
	"tool-input-available", "tool-input-error", "tool-approval-request", "tool-output-available", "tool-output-error", "tool-output-denied",
	"data-approval", "data-result",
}

// oneWriterOfStreams (EV-05, EV-06): only one package turns events into parts of the public stream, because it must
// close each part that it opens. A second writer could not know which parts are open.
func oneWriterOfStreams(t *tree) (found []violation) {
	for _, p := range t.shipped() {
		if p.path == streamWriter {
			continue
		}
		words := streamWords
		switch p.path {
		case "internal/mcp", "internal/modelserver": // streams of other protocols
			words = streamWords[1:]
		}
		for pos, text := range p.texts() {
			text = strings.ToLower(text)
			if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) }) {
				found = append(found, violation{t.at(pos), fmt.Sprintf("%s writes the stream of a run: only %s may", p.path, streamWriter)})
			}
		}
	}
	return found
}

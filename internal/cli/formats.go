package cli

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

// formats are the codecs, in the order of the documentation.
func formats() []wire.Codec {
	return []wire.Codec{openai.Codec{}, responses.Codec{}, anthropic.Codec{}, ollama.Codec{}, gemini.Codec{}}
}

func formatNames() (names []string) {
	for _, c := range formats() {
		names = append(names, c.Format())
	}
	return names
}

func formatOf(name string) (wire.Codec, error) {
	for _, c := range formats() {
		if c.Format() == name {
			return c, nil
		}
	}
	return nil, usageError{fmt.Errorf("--format is one of: %s", strings.Join(formatNames(), ", "))}
}

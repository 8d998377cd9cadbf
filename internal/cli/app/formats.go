package app

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

// WireFormats returns the codecs of the provider formats, in the order of the documentation.
func WireFormats() []wire.Codec {
	return []wire.Codec{openai.Codec{}, responses.Codec{}, anthropic.Codec{}, ollama.Codec{}, gemini.Codec{}}
}

// WireFormatNames returns the names of the formats, in the order of WireFormats.
func WireFormatNames() (names []string) {
	for _, c := range WireFormats() {
		names = append(names, c.Format())
	}
	return names
}

// FindWireFormat returns the codec with the name that --format gives. The error is a usage error
// that lists the names.
func FindWireFormat(name string) (wire.Codec, error) {
	for _, c := range WireFormats() {
		if c.Format() == name {
			return c, nil
		}
	}
	return nil, usageError{fmt.Errorf("--format is one of: %s", strings.Join(WireFormatNames(), ", "))}
}

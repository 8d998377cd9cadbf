package main

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
)

// titleWords bounds a title.
const titleWords = 8

type titleIn struct {
	Message string `json:"message" jsonschema:"minLength=1,maxLength=4000" jsonschema_description:"The message that begins the conversation."`
}

// GenerateTitle is core__generate_title: a title for a conversation. Its value is a text.
func GenerateTitle() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: "core__generate_title", Title: "Generate a title", Description: "Makes a title for a conversation from the first words of its first message.",
		Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Fast: true,
		Redaction: toolspec.Redaction{Allow: []string{""}},
		Examples:  []toolspec.Example{{Title: "a greeting", Args: `{"message": "hi"}`}},
	}, func(_ context.Context, in titleIn, _ toolspec.Call) (string, error) {
		words := strings.Fields(in.Message)
		if len(words) == 0 {
			return "", toolspec.Safef("the message is empty")
		}
		title := strings.Join(words[:min(titleWords, len(words))], " ")
		if len(words) > titleWords {
			title += " …"
		}
		first, size := utf8.DecodeRuneInString(title)
		return string(unicode.ToUpper(first)) + title[size:], nil
	})
}

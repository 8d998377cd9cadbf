package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

// outputMatches is how many matches core__tool_output_cache_grep shows by default.
const outputMatches = 50

type outputGrepIn struct {
	RefID      string `json:"ref_id" jsonschema:"minLength=1,maxLength=256" jsonschema_description:"Reference of the output: outputRef or output_ref of a result of this run."`
	Pattern    string `json:"pattern" jsonschema:"minLength=1,maxLength=1000" jsonschema_description:"Text to look for within a line; with regex a regular expression in RE2 syntax, without look-around and back-references."`
	Regex      bool   `json:"regex,omitempty" jsonschema_description:"Take the pattern for a regular expression; begin it with (?i) to ignore case. Default: false, literal text."`
	Before     int    `json:"before,omitempty" jsonschema:"minimum=0,maximum=20" jsonschema_description:"Lines to show before each match. Default: 0."`
	After      int    `json:"after,omitempty" jsonschema:"minimum=0,maximum=20" jsonschema_description:"Lines to show after each match. Default: 0."`
	MaxMatches int    `json:"max_matches,omitempty" jsonschema:"minimum=1,maximum=100" jsonschema_description:"Show at most this many matches. Default: 50."`
	Offset     int64  `json:"offset,omitempty" jsonschema:"minimum=1" jsonschema_description:"First line to search, counted from 1. Default: 1."`
	Pointer    string `json:"pointer,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"JSON pointer to the part of a JSON value to search. Default: the whole value."`
}

type outputGrepOut struct {
	Text       string `json:"text" jsonschema_description:"Matching lines as number:line, lines around them as number-line, with -- between parts that do not follow each other."`
	Matches    int    `json:"matches" jsonschema_description:"How many matching lines are shown."`
	Truncated  bool   `json:"truncated" jsonschema_description:"True if there are or may be more matches from nextOffset on."`
	NextOffset int64  `json:"nextOffset,omitempty" jsonschema_description:"Offset to go on searching with; absent if the output was searched to its end."`
	Remark     string `json:"remark,omitempty" jsonschema_description:"Why the search ended before the end of the output, if it was neither the number of matches nor the space for them."`
	Writing    bool   `json:"writing,omitempty" jsonschema_description:"True while the tool still writes the output: search again later for the rest."`
}

// OutputCacheGrep is core__tool_output_cache_grep: lines of a stored output of the same run that match a pattern. It needs
// capability.Outputs.
func OutputCacheGrep() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__tool_output_cache_grep",
		Title: "Search in a stored tool output",
		Description: "Finds the lines that hold a text, or match a regular expression, in the output of an earlier tool call of this run, by its reference. " +
			"Use it when a result was truncated or replaced and has an outputRef or output_ref. Matches come with their line numbers, up to 9 KiB at once: go on with offset = nextOffset, " +
			"and read around a match with core__tool_output_cache. A JSON value is searched as indented lines, and a JSON string as its text; pointer selects a part of the value. " +
			"Of a line over 500 bytes you get the part with the match. A search ends after 1 GiB, with a costly expression earlier, and says so in remark.",
		Version: "1",
		Effect:  toolspec.ReadOnly,
		Risk:    toolspec.LowRisk,
		Heavy:   true,
		Redaction: toolspec.Redaction{Allow: []string{
			"/text", "/matches", "/truncated", "/nextOffset", "/remark", "/writing",
		}},
		Capabilities: []toolspec.CapabilityName{capability.OutputsKey.Name()},
		Tags:         []string{"outputs", "search"},
		Examples: []toolspec.Example{
			{Title: "find errors with the lines around them", Args: `{"ref_id": "s126", "pattern": "error", "before": 2, "after": 2}`},
		},
		CacheFor: toolspec.NeverCached, // as for core__tool_output_cache
	}, outputCacheGrep)
}

func outputCacheGrep(ctx context.Context, in outputGrepIn, call toolspec.Call) (outputGrepOut, error) {
	pattern, err := read.NewPattern(in.Pattern, in.Regex)
	if err != nil {
		return outputGrepOut{}, explainOutput(err)
	}
	if in.MaxMatches == 0 {
		in.MaxMatches = outputMatches
	}
	text, err := read.Open(ctx, readableOutputs(call), call.Context.TenantID, in.RefID, in.Pointer)
	if err != nil {
		return outputGrepOut{}, explainOutput(err)
	}
	found, err := text.Grep(read.Query{Pattern: pattern, Before: in.Before, After: in.After, Most: in.MaxMatches, Offset: in.Offset})
	if err != nil {
		return outputGrepOut{}, explainOutput(err)
	}
	out := outputGrepOut{Matches: found.Matches, Truncated: found.Next > 0, NextOffset: found.Next, Writing: !text.Info.Complete}
	if found.Limited {
		out.Remark = "The search stopped after 1 GiB, or because its pattern is costly on so much text: go on with nextOffset, or look for literal text. The rest of a very long line may not have been searched."
	}
	out.Text = matchText(found.Lines, in.Before+in.After > 0)
	return out, nil
}

// matchText writes lines as grep -n does.
func matchText(lines []read.Line, groups bool) string {
	var b strings.Builder
	for i, l := range lines {
		if groups && i > 0 && lines[i-1].Number+1 < l.Number {
			b.WriteString("--\n")
		}
		mark := '-'
		if l.Match {
			mark = ':'
		}
		fmt.Fprintf(&b, "%d%c%s", l.Number, mark, l.Text)
		if l.Cut {
			b.WriteString("... [line cut]")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

package hydrate

import (
	"cmp"
	"encoding/json"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// maxCallID bounds the provider's id of a call, in characters.
const maxCallID = 128

// Given is a complete call as a model provider returned it.
type Given struct {
	// Provider names the format.
	Provider string
	// ID is the provider's id of the call, empty if there is none. Name is the provider's name of
	// the tool.
	ID, Name string
	// Args is the text of the arguments, byte for byte; empty means no arguments.
	Args []byte
	// Fault is incomplete or invalid_json if the provider's call was not complete, and empty
	// otherwise.
	Fault toolspec.Code
	// Source is the part of the response that contains the call, if known.
	Source json.RawMessage
}

// Call hydrates one call of the tool t. It does not run the tool. If the tool is not known, or the
// id has more than 128 characters, the call fails at the stage instantiate, whatever its arguments
// are.
func Call(t Target, known bool, g Given) Result {
	var r Result
	var args json.RawMessage
	small := len(g.Args) <= toolspec.MaxInline // larger arguments are not parsed
	ok := small
	if small {
		args, ok = OfText(g.Args)
	}
	switch {
	case g.Fault != "":
		r = unhydrated(g)
		fail(&r, toolspec.HydrationParse, g.Fault, toolspec.Problem{Kind: string(g.Fault), Message: toolspec.InfoOf(g.Fault).Message})
	case !known:
		r = unhydrated(g)
		fail(&r, toolspec.HydrationInstantiate, toolspec.CodeUnavailable, toolspec.Problem{Kind: KindUnknownTool, Message: toolspec.InfoOf(toolspec.CodeUnavailable).Message})
	case utf8.RuneCountInString(g.ID) > maxCallID:
		r = unhydrated(g)
		fail(&r, toolspec.HydrationInstantiate, toolspec.CodeValidation, toolspec.Problem{Kind: KindTooLarge, Message: "the id of the call is longer than 128 characters"})
	case !small:
		r = unhydrated(g)
		fail(&r, toolspec.HydrationParse, toolspec.CodeValidation, tooLarge(cmp.Or(t.MaxArgs, toolspec.DefaultMaxArgs)))
	case !ok:
		r = unhydrated(g)
		fail(&r, toolspec.HydrationParse, toolspec.CodeInvalidJSON, named(KindInvalidUTF8, "").Problem)
	default:
		r = t.Hydrate(args)
		r.Provenance.OriginalDigest, r.Provenance.OriginalBytes = digestOf(g.Args), len(g.Args)
		// Tolerances is empty for arguments that were too large to parse.
		if len(r.Provenance.Tolerances) > 0 && args[0] == '"' && trim(g.Args)[0] != '"' {
			r.Provenance.Tolerances = r.Provenance.Tolerances[1:] // OfText added the string, not the model
		}
	}
	if known {
		r.ToolID, r.Provenance.ToolID, r.Provenance.ToolDigest = t.ToolID, t.ToolID, t.ToolDigest
	}
	r.Provenance.From(toolspec.ProviderCall{Provider: g.Provider, ToolID: g.Name, CallID: g.ID, Source: g.Source})
	return r
}

// Unhydrated returns the provenance of a call that ended before its arguments were hydrated,
// with the kind of the problem and its place in the input.
func Unhydrated(toolID string, args json.RawMessage, kind, path string) toolspec.Provenance {
	p := unhydrated(Given{Args: args}).Provenance
	p.ToolID, p.Outcome, p.Problems = toolID, toolspec.HydrationInstantiate, []toolspec.ProblemAt{{Path: path, Kind: kind}}
	return p
}

func unhydrated(g Given) Result {
	var r Result
	r.Provenance.OriginalBytes = len(g.Args)
	if len(g.Args) <= toolspec.MaxInline {
		r.Provenance.OriginalDigest = digestOf(g.Args)
		r.Provenance.Original = original(g.Args)
	}
	return r
}

// original returns the part of unaccepted arguments that records may show.
func original(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	if strictjson.Check(text) == nil {
		return shapeOf(decoded(text))
	}
	return skeleton(text)
}

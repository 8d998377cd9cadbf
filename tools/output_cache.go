package tools

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

// Bounds of a slice by bytes: of a text, and of other outputs, which become a third larger in base64.
const (
	sliceText  = 4 << 10
	sliceOther = 6 << 10
)

type outputCacheIn struct {
	RefID      string `json:"ref_id" jsonschema:"minLength=1,maxLength=256" jsonschema_description:"Reference of the output: outputRef or output_ref of a result of this run."`
	Offset     int64  `json:"offset,omitempty" jsonschema:"minimum=1" jsonschema_description:"First line to read, counted from 1. Default: 1."`
	Limit      int64  `json:"limit,omitempty" jsonschema:"minimum=1" jsonschema_description:"How many lines to read at the most. Default: as many as fit in 9 KiB."`
	Pointer    string `json:"pointer,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"JSON pointer to the part of a JSON value to read, such as /items/3/name. Default: the whole value."`
	ByteOffset *int64 `json:"byte_offset,omitempty" jsonschema:"minimum=0" jsonschema_description:"Read bytes of the output from this offset, counted from 0, and no lines. Goes with byte_limit only."`
	ByteLimit  int    `json:"byte_limit,omitempty" jsonschema:"minimum=1" jsonschema_description:"How many bytes to read at the most: up to 4096 of a text and 6144 of other outputs, which is the default."`
}

type outputCacheOut struct {
	Text       string `json:"text,omitempty" jsonschema_description:"The lines, each after its number and a tab; of a slice by bytes the text alone."`
	Base64     string `json:"base64,omitempty" jsonschema_description:"The bytes of a slice that is not text, in base64."`
	StartLine  int64  `json:"startLine,omitempty" jsonschema_description:"Number of the first line shown."`
	EndLine    int64  `json:"endLine,omitempty" jsonschema_description:"Number of the last line shown."`
	NextOffset int64  `json:"nextOffset,omitempty" jsonschema_description:"Offset to go on reading with; absent at the end of the output."`
	NextByte   int64  `json:"nextByte,omitempty" jsonschema_description:"Offset in bytes to go on reading with; absent at the end of the output."`
	MediaType  string `json:"mediaType" jsonschema_description:"Media type of the whole output."`
	TotalBytes int64  `json:"totalBytes" jsonschema_description:"Length of the whole output in bytes."`
	TotalLines int64  `json:"totalLines,omitempty" jsonschema_description:"Lines of the whole output; absent if they are formed from JSON or it is not text."`
	Writing    bool   `json:"writing,omitempty" jsonschema_description:"True while the tool still writes the output: read again later for the rest."`
}

// OutputCache is core__tool_output_cache: a part of a stored output of the same run. It needs capability.Outputs.
func OutputCache() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__tool_output_cache",
		Title: "Read a stored tool output",
		Description: "Reads the output of an earlier tool call of this run by its reference, as numbered lines, up to 9 KiB at once: go on with offset = nextOffset. " +
			"Use it when a result was truncated or replaced and has an outputRef or output_ref. Of a line over 2000 bytes you get the beginning, with limit 1 up to 9 KiB of it. " +
			"A JSON value is shown indented, and a JSON string as its text: pointer selects a part of the value, and offset and limit count the lines of what it selects. " +
			"byte_offset and byte_limit read bytes of the output as it is stored, such as the rest of a long line or a part of an image. " +
			"Search a large output with core__tool_output_cache_grep first. The line numbers and tabs are not part of the output.",
		Version: "1",
		Effect:  toolspec.ReadOnly,
		Risk:    toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{
			"/text", "/base64", "/startLine", "/endLine", "/nextOffset", "/nextByte", "/mediaType", "/totalBytes", "/totalLines", "/writing",
		}},
		Capabilities: []toolspec.CapabilityName{capability.OutputsKey.Name()},
		Tags:         []string{"outputs"},
		Examples: []toolspec.Example{
			{Title: "read lines 201 to 300", Args: `{"ref_id": "s126", "offset": 201, "limit": 100}`},
			{Title: "read a part of a JSON value", Args: `{"ref_id": "s126", "pointer": "/items/3"}`},
		},
		// An output that is being written changes, and each output expires.
		CacheFor: toolspec.NeverCached,
	}, outputCache)
}

func outputCache(ctx context.Context, in outputCacheIn, call toolspec.Call) (outputCacheOut, error) {
	outputs := readableOutputs(call)
	if in.ByteOffset != nil || in.ByteLimit > 0 {
		if in.Offset > 0 || in.Limit > 0 || in.Pointer != "" {
			return outputCacheOut{}, toolspec.Safef("byte_offset and byte_limit do not go with offset, limit or pointer")
		}
		return outputBytes(ctx, outputs, in, call.Context.TenantID)
	}
	text, err := read.Open(ctx, outputs, call.Context.TenantID, in.RefID, in.Pointer)
	if err != nil {
		return outputCacheOut{}, explainOutput(err)
	}
	page, err := text.Lines(read.Window{Offset: in.Offset, Limit: in.Limit})
	if err != nil {
		return outputCacheOut{}, explainOutput(err)
	}
	out := describe(text.Info)
	if text.Formed {
		out.TotalLines = 0
	}
	out.NextOffset = page.Next
	var b strings.Builder
	for _, l := range page.Lines {
		fmt.Fprintf(&b, "%6d\t%s", l.Number, l.Text)
		switch {
		case l.Cut && l.At > 0:
			fmt.Fprintf(&b, "... [line cut: go on with byte_offset %d]", l.At)
		case l.Cut:
			b.WriteString("... [line cut: select the value with pointer]")
		}
		b.WriteByte('\n')
		out.EndLine = l.Number
	}
	if len(page.Lines) > 0 {
		out.StartLine = page.Lines[0].Number
	}
	out.Text = b.String()
	return out, nil
}

// outputBytes reads a slice. A text begins and ends with whole characters.
func outputBytes(ctx context.Context, outputs output.Reader, in outputCacheIn, tenantID string) (outputCacheOut, error) {
	offset := int64(0)
	if in.ByteOffset != nil {
		offset = *in.ByteOffset
	}
	limit := sliceOther
	if in.ByteLimit > 0 {
		limit = min(in.ByteLimit, sliceOther)
	}
	slice, err := read.Bytes(ctx, outputs, tenantID, in.RefID, offset, limit)
	if err != nil {
		return outputCacheOut{}, explainOutput(err)
	}
	out := describe(slice.Info)
	text := slice.Data[:min(len(slice.Data), sliceText)]
	if slice.Next > 0 || len(text) < len(slice.Data) {
		// A text without a whole character is not cut: NextByte would be the offset again, and reading
		// would not go on.
		if cut := read.WholeRunes(text); cut > 0 {
			text = text[:cut]
		}
	}
	if !utf8.Valid(text) || bytes.ContainsFunc(text, isBinary) {
		out.Base64, out.NextByte = base64.StdEncoding.EncodeToString(slice.Data), slice.Next
		return out, nil
	}
	out.Text = string(text)
	if end := offset + int64(len(text)); end < slice.Info.Bytes {
		out.NextByte = end
	}
	return out, nil
}

// isBinary reports whether a character is neither in texts nor in the output of terminals.
func isBinary(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r\x1b", r) }

func describe(i output.Info) outputCacheOut {
	return outputCacheOut{MediaType: i.MediaType, TotalBytes: i.Bytes, TotalLines: i.Lines, Writing: !i.Complete}
}

// callOutputs reads the outputs that a call may read, and does not find others.
type callOutputs struct {
	output.Reader
	call toolspec.Context
}

// readableOutputs returns the reader of the outputs that a call may read.
func readableOutputs(call toolspec.Call) callOutputs {
	return callOutputs{capability.OutputsKey.From(call), call.Context}
}

// Info implements output.Reader. Chunks are only read of an output that Info has found.
func (r callOutputs) Info(ctx context.Context, tenantID, ref string) (output.Info, error) {
	info, err := r.Reader.Info(ctx, tenantID, ref)
	if err == nil && !r.mayRead(info) {
		err = output.ErrNotFound
	}
	if err != nil {
		return output.Info{}, err
	}
	return info, nil
}

// mayRead reports whether the call may read an output of its tenant: one of its run, and for a subject also an output that the subject
// made for itself, or that the same actor made for it. The gate has asked whether the subject is proved and has delegated the tool to the actor.
func (r callOutputs) mayRead(i output.Info) bool {
	if i.RunID == r.call.RunID {
		return true
	}
	subject := r.call.SubjectID
	isOwn := i.ActorID == subject && (i.SubjectID == "" || i.SubjectID == subject)
	return subject != "" && (isOwn || i.ActorID == r.call.ActorID && i.SubjectID == subject)
}

// The answers of the tools that read outputs, where the errors of the packages below do not say what to do.
var (
	errNoOutput      = toolspec.Safef("there is no such output in this run: use the outputRef or output_ref of a result of this run as it is written there")
	errOutputExpired = toolspec.Safef("the output has expired and was deleted: call the tool that made it again")
)

// explainOutput turns an error of reading an output into a message for the caller, as explain does.
func explainOutput(err error) error {
	switch {
	case errors.Is(err, output.ErrNotFound):
		return errNoOutput
	case errors.Is(err, output.ErrExpired):
		return errOutputExpired
	}
	for _, known := range []error{
		read.ErrNotText, read.ErrPastEnd, read.ErrNotJSON, read.ErrBadPointer, read.ErrNoValue, read.ErrTooDeep, read.ErrTooLong,
		read.ErrBadPattern, read.ErrComplexPattern, read.ErrPatternLines, read.ErrPatternSize,
	} {
		if errors.Is(err, known) {
			return toolspec.Safef("%w", known)
		}
	}
	return err
}

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

type indexIn struct {
	Files        int `json:"files" jsonschema:"minimum=1,maximum=1000" jsonschema_description:"How many files there are."`
	Milliseconds int `json:"milliseconds" jsonschema:"minimum=0,maximum=1000" jsonschema_description:"How long a file takes."`
	FailAt       int `json:"failAt,omitempty" jsonschema_description:"The file that cannot be read, for a call that fails."`
}

type indexOut struct {
	Files int    `json:"files"`
	Note  string `json:"note"`
}

// index is a tool that takes a while and says how far it is.
var index = toolspec.Define(toolspec.Definition{
	ID: "report__index", Description: "Indexes files, slowly.", Version: "1",
	Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{"/files", "/note"}},
	Capabilities: []toolspec.CapabilityName{capability.ProgressKey.Name()},
}, func(ctx context.Context, in indexIn, call toolspec.Call) (indexOut, error) {
	progress := capability.ProgressKey.From(call)
	for n := 1; n <= in.Files; n++ {
		select {
		case <-ctx.Done():
			return indexOut{}, ctx.Err()
		case <-time.After(time.Duration(in.Milliseconds) * time.Millisecond):
		}
		if n == in.FailAt {
			return indexOut{}, toolspec.Safef("file %d cannot be read", n)
		}
		progress.Report(ctx, toolspec.Progress{Done: int64(n), Total: int64(in.Files), Text: fmt.Sprintf("file %d", n)})
	}
	// Tools return what strangers wrote: the page shows it as text.
	return indexOut{Files: in.Files, Note: "<b>done</b>"}, nil
})

package catalog

import (
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Field is a part of a tool that [Catalog.Pick] looks into.
type Field string

// The fields.
const (
	InName                 Field = "name"
	InTitle                Field = "title"
	InTags                 Field = "tags"
	InDescription          Field = "description"
	InArguments            Field = "arguments"
	InArgumentDescriptions Field = "argumentDescriptions"
	InArgumentValues       Field = "argumentValues" // the texts of enum
)

// The fields by their number in the index, what a word counts in them, and how
// much a long one dilutes it: 0 not at all, 1 in proportion. A tool is called by
// what its name says, and names of one length differ in nothing; descriptions of
// arguments repeat each other from tool to tool.
var (
	fieldNames  = [fieldCount]Field{InName, InTitle, InTags, InDescription, InArguments, InArgumentDescriptions, InArgumentValues}
	fieldWeight = [fieldCount]float64{3, 2, 2, 1.5, 1, 0.5, 0.5}
	fieldLength = [fieldCount]float64{0.4, 0.4, 0.3, 0.6, 0.7, 0.7, 0.7}
)

const (
	fieldCount = 7
	// maxFieldWords bounds the words that are read of one field of a tool.
	maxFieldWords = 4_000
	// saturation is k1 of BM25: the lower, the sooner a word said twice counts no
	// more than one said once.
	saturation = 1.2
)

// texts are what stands in the fields of a tool.
func texts(spec toolspec.Spec) [fieldCount]string {
	args := argumentsOf(spec.InputSchema)
	title := spec.Title
	if title == spec.Name { // nobody gave one
		title = ""
	}
	return [fieldCount]string{
		spec.Name, title, strings.Join(spec.Tags, "\n"), spec.Description,
		strings.Join(args.names, "\n"), strings.Join(args.descriptions, "\n"), strings.Join(args.values, "\n"),
	}
}

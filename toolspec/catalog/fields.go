package catalog

import (
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Field is a part of a tool in which [Catalog.Pick] searches.
type Field string

// The fields.
const (
	InName                 Field = "name"
	InTitle                Field = "title"
	InTags                 Field = "tags"
	InDescription          Field = "description"
	InArguments            Field = "arguments"
	InArgumentDescriptions Field = "argumentDescriptions"
	InArgumentValues       Field = "argumentValues" // the strings of enum
)

// The fields by their number in the index, with the weight of a word in each, and the length
// normalisation: 0 none, 1 proportional. The name of a tool describes it best. Descriptions of
// arguments repeat from tool to tool, so they weigh least.
var (
	fieldNames  = [fieldCount]Field{InName, InTitle, InTags, InDescription, InArguments, InArgumentDescriptions, InArgumentValues}
	fieldWeight = [fieldCount]float64{3, 2, 2, 1.5, 1, 0.5, 0.5}
	fieldLength = [fieldCount]float64{0.4, 0.4, 0.3, 0.6, 0.7, 0.7, 0.7}
)

const (
	fieldCount = 7
	// maxFieldWords bounds the indexed words of one field of a tool.
	maxFieldWords = 4_000
	// saturation is k1 of BM25: the lower it is, the less a repeated word counts.
	saturation = 1.2
)

// texts returns the text of each field of a tool.
func texts(spec toolspec.Spec) [fieldCount]string {
	args := argumentsOf(spec.InputSchema)
	title := spec.Title
	if title == spec.Name { // the tool declares no title
		title = ""
	}
	return [fieldCount]string{
		spec.Name, title, strings.Join(spec.Tags, "\n"), spec.Description,
		strings.Join(args.names, "\n"), strings.Join(args.descriptions, "\n"), strings.Join(args.values, "\n"),
	}
}

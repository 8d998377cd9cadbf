package schema

import (
	"maps"
	"slices"
)

// role is what a keyword does.
type role int

const (
	asserts   role = iota + 1 // judges the value
	applies                   // applies subschemas
	annotates                 // says something to people
	locates                   // names places: identifiers, references, definitions
	unserved                  // changes what others mean in ways that are not supported
)

// keyword is one word of some draft.
type keyword struct {
	from, to Draft // the drafts that know it, both included
	role     role
	shape    shape     // how it holds subschemas
	value    valueForm // of keywords that hold no subschemas
}

// in reports whether draft d knows the keyword.
func (k keyword) in(d Draft) bool { return k.from <= d && d <= k.to }

// drafts says in words which drafts know the keyword.
func (k keyword) drafts() string {
	switch {
	case k.from == k.to:
		return k.from.String()
	case k.to == newest:
		return k.from.String() + " and later"
	default:
		return k.from.String() + " to " + k.to.String()
	}
}

// vocabulary is every keyword of drafts 04 to 2020-12, as their meta-schemas
// have them. $defs counts from 2019-09 on, and is taken in every draft where
// $schema names it: references find it there too.
var vocabulary = map[string]keyword{
	"type":             {Draft04, newest, asserts, notSchema, typeNames},
	"enum":             {Draft04, newest, asserts, notSchema, someValues},
	"const":            {Draft06, newest, asserts, notSchema, anyValue},
	"multipleOf":       {Draft04, newest, asserts, notSchema, positive},
	"maximum":          {Draft04, newest, asserts, notSchema, aNumber},
	"minimum":          {Draft04, newest, asserts, notSchema, aNumber},
	"exclusiveMaximum": {Draft04, newest, asserts, notSchema, exclusiveBound},
	"exclusiveMinimum": {Draft04, newest, asserts, notSchema, exclusiveBound},
	"maxLength":        {Draft04, newest, asserts, notSchema, aCount},
	"minLength":        {Draft04, newest, asserts, notSchema, aCount},
	"pattern":          {Draft04, newest, asserts, notSchema, aText},
	"maxItems":         {Draft04, newest, asserts, notSchema, aCount},
	"minItems":         {Draft04, newest, asserts, notSchema, aCount},
	"uniqueItems":      {Draft04, newest, asserts, notSchema, aBool},
	"maxContains":      {Draft2019, newest, asserts, notSchema, aCount},
	"minContains":      {Draft2019, newest, asserts, notSchema, aCount},
	"maxProperties":    {Draft04, newest, asserts, notSchema, aCount},
	"minProperties":    {Draft04, newest, asserts, notSchema, aCount},
	"required":         {Draft04, newest, asserts, notSchema, nameList},
	"format":           {Draft04, newest, asserts, notSchema, aText},

	"dependentRequired":     {Draft2019, newest, asserts, notSchema, nameLists},
	"dependencies":          {Draft04, Draft2019, applies, depends, anyValue},
	"dependentSchemas":      {Draft2019, newest, applies, table, anyValue},
	"properties":            {Draft04, newest, applies, table, anyValue},
	"patternProperties":     {Draft04, newest, applies, table, anyValue},
	"additionalProperties":  {Draft04, newest, applies, one, anyValue},
	"propertyNames":         {Draft06, newest, applies, one, anyValue},
	"items":                 {Draft04, newest, applies, either, anyValue},
	"prefixItems":           {Draft2020, newest, applies, list, anyValue},
	"additionalItems":       {Draft04, Draft2019, applies, one, anyValue},
	"contains":              {Draft06, newest, applies, one, anyValue},
	"allOf":                 {Draft04, newest, applies, list, anyValue},
	"anyOf":                 {Draft04, newest, applies, list, anyValue},
	"oneOf":                 {Draft04, newest, applies, list, anyValue},
	"not":                   {Draft04, newest, applies, one, anyValue},
	"if":                    {Draft07, newest, applies, one, anyValue},
	"then":                  {Draft07, newest, applies, one, anyValue},
	"else":                  {Draft07, newest, applies, one, anyValue},
	"unevaluatedItems":      {Draft2019, newest, applies, one, anyValue},
	"unevaluatedProperties": {Draft2019, newest, applies, one, anyValue},
	"$ref":                  {Draft04, newest, locates, notSchema, aText},
	"$id":                   {Draft06, newest, locates, notSchema, aText},
	"id":                    {Draft04, Draft04, locates, notSchema, aText},
	"$schema":               {Draft04, newest, locates, notSchema, aText},
	"$anchor":               {Draft2019, newest, locates, notSchema, anAnchor},
	"$defs":                 {Draft2019, newest, locates, table, anyValue},
	"definitions":           {Draft04, newest, locates, table, anyValue},
	"$dynamicRef":           {Draft2020, newest, unserved, notSchema, anyValue},
	"$dynamicAnchor":        {Draft2020, newest, unserved, notSchema, anyValue},
	"$recursiveRef":         {Draft2019, Draft2019, unserved, notSchema, anyValue},
	"$recursiveAnchor":      {Draft2019, Draft2019, unserved, notSchema, anyValue},
	"$vocabulary":           {Draft2019, newest, unserved, notSchema, anyValue},
	"title":                 {Draft04, newest, annotates, notSchema, aText},
	"description":           {Draft04, newest, annotates, notSchema, aText},
	"default":               {Draft04, newest, annotates, notSchema, anyValue},
	"examples":              {Draft06, newest, annotates, notSchema, aList},
	"$comment":              {Draft07, newest, annotates, notSchema, aText},
	"readOnly":              {Draft07, newest, annotates, notSchema, aBool},
	"writeOnly":             {Draft07, newest, annotates, notSchema, aBool},
	"deprecated":            {Draft2019, newest, annotates, notSchema, aBool},
	"contentMediaType":      {Draft07, newest, annotates, notSchema, aText},
	"contentEncoding":       {Draft07, newest, annotates, notSchema, aText},
	"contentSchema":         {Draft2019, newest, annotates, one, anyValue},
}

// foreign are rules of dialects that are no JSON Schema of these drafts. To
// ignore them would change what the author meant.
var foreign = map[string]string{
	"nullable":        `is a word of OpenAPI 3.0: write "type": ["…", "null"]`,
	"divisibleBy":     "is a word of draft-03: write multipleOf",
	"disallow":        "is a word of draft-03: write not",
	"extends":         "is a word of draft-03: write allOf",
	"optional":        "is no keyword: leave the name out of required",
	"property":        "is no keyword: write properties",
	"patternProperty": "is no keyword: write patternProperties",
}

// shapeOf knows how every keyword that holds schemas holds them.
func shapeOf(name string) shape { return vocabulary[name].shape }

// keywords are the members of a schema in a fixed order.
func (n *node) keywords() []string { return slices.Sorted(maps.Keys(n.object)) }

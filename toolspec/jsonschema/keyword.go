package jsonschema

import (
	"maps"
	"slices"
)

// Role is the role of a keyword.
type Role int

// The roles.
const (
	Asserts   Role = iota + 1 // judges the value
	Applies                   // applies subschemas
	Annotates                 // is for people
	Locates                   // identifies or refers: identifiers, references, definitions
	Unserved                  // changes the meaning of other keywords in a way that is not supported
)

// keyword describes a keyword of some draft.
type keyword struct {
	from, to Draft // the first and the last draft that have it
	role     Role
	shape    shape     // the form of its subschemas
	value    valueForm // the form of its value, if it has no subschemas
}

// in reports whether draft d has the keyword.
func (k keyword) in(d Draft) bool { return k.from <= d && d <= k.to }

// drafts returns the drafts that have the keyword, as text.
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

// vocabulary holds every keyword of drafts 04 to 2020-12, as in their meta-schemas. $defs is a
// keyword since 2019-09, and is accepted in every draft that $schema names, because references find
// it in each.
var vocabulary = map[string]keyword{
	"type":             {Draft04, newest, Asserts, notSchema, typeNames},
	"enum":             {Draft04, newest, Asserts, notSchema, someValues},
	"const":            {Draft06, newest, Asserts, notSchema, anyValue},
	"multipleOf":       {Draft04, newest, Asserts, notSchema, positive},
	"maximum":          {Draft04, newest, Asserts, notSchema, aNumber},
	"minimum":          {Draft04, newest, Asserts, notSchema, aNumber},
	"exclusiveMaximum": {Draft04, newest, Asserts, notSchema, exclusiveBound},
	"exclusiveMinimum": {Draft04, newest, Asserts, notSchema, exclusiveBound},
	"maxLength":        {Draft04, newest, Asserts, notSchema, aCount},
	"minLength":        {Draft04, newest, Asserts, notSchema, aCount},
	"pattern":          {Draft04, newest, Asserts, notSchema, aText},
	"maxItems":         {Draft04, newest, Asserts, notSchema, aCount},
	"minItems":         {Draft04, newest, Asserts, notSchema, aCount},
	"uniqueItems":      {Draft04, newest, Asserts, notSchema, aBool},
	"maxContains":      {Draft2019, newest, Asserts, notSchema, aCount},
	"minContains":      {Draft2019, newest, Asserts, notSchema, aCount},
	"maxProperties":    {Draft04, newest, Asserts, notSchema, aCount},
	"minProperties":    {Draft04, newest, Asserts, notSchema, aCount},
	"required":         {Draft04, newest, Asserts, notSchema, nameList},
	"format":           {Draft04, newest, Asserts, notSchema, aText},

	"dependentRequired":     {Draft2019, newest, Asserts, notSchema, nameLists},
	"dependencies":          {Draft04, Draft2019, Applies, depends, anyValue},
	"dependentSchemas":      {Draft2019, newest, Applies, table, anyValue},
	"properties":            {Draft04, newest, Applies, table, anyValue},
	"patternProperties":     {Draft04, newest, Applies, table, anyValue},
	"additionalProperties":  {Draft04, newest, Applies, one, anyValue},
	"propertyNames":         {Draft06, newest, Applies, one, anyValue},
	"items":                 {Draft04, newest, Applies, either, anyValue},
	"prefixItems":           {Draft2020, newest, Applies, list, anyValue},
	"additionalItems":       {Draft04, Draft2019, Applies, one, anyValue},
	"contains":              {Draft06, newest, Applies, one, anyValue},
	"allOf":                 {Draft04, newest, Applies, list, anyValue},
	"anyOf":                 {Draft04, newest, Applies, list, anyValue},
	"oneOf":                 {Draft04, newest, Applies, list, anyValue},
	"not":                   {Draft04, newest, Applies, one, anyValue},
	"if":                    {Draft07, newest, Applies, one, anyValue},
	"then":                  {Draft07, newest, Applies, one, anyValue},
	"else":                  {Draft07, newest, Applies, one, anyValue},
	"unevaluatedItems":      {Draft2019, newest, Applies, one, anyValue},
	"unevaluatedProperties": {Draft2019, newest, Applies, one, anyValue},
	"$ref":                  {Draft04, newest, Locates, notSchema, aText},
	"$id":                   {Draft06, newest, Locates, notSchema, aText},
	"id":                    {Draft04, Draft04, Locates, notSchema, aText},
	"$schema":               {Draft04, newest, Locates, notSchema, aText},
	"$anchor":               {Draft2019, newest, Locates, notSchema, anAnchor},
	"$defs":                 {Draft2019, newest, Locates, table, anyValue},
	"definitions":           {Draft04, newest, Locates, table, anyValue},
	"$dynamicRef":           {Draft2020, newest, Unserved, notSchema, anyValue},
	"$dynamicAnchor":        {Draft2020, newest, Unserved, notSchema, anyValue},
	"$recursiveRef":         {Draft2019, Draft2019, Unserved, notSchema, anyValue},
	"$recursiveAnchor":      {Draft2019, Draft2019, Unserved, notSchema, anyValue},
	"$vocabulary":           {Draft2019, newest, Unserved, notSchema, anyValue},
	"title":                 {Draft04, newest, Annotates, notSchema, aText},
	"description":           {Draft04, newest, Annotates, notSchema, aText},
	"default":               {Draft04, newest, Annotates, notSchema, anyValue},
	"examples":              {Draft06, newest, Annotates, notSchema, aList},
	"$comment":              {Draft07, newest, Annotates, notSchema, aText},
	"readOnly":              {Draft07, newest, Annotates, notSchema, aBool},
	"writeOnly":             {Draft07, newest, Annotates, notSchema, aBool},
	"deprecated":            {Draft2019, newest, Annotates, notSchema, aBool},
	"contentMediaType":      {Draft07, newest, Annotates, notSchema, aText},
	"contentEncoding":       {Draft07, newest, Annotates, notSchema, aText},
	"contentSchema":         {Draft2019, newest, Annotates, one, anyValue},
}

// foreign holds keywords of dialects that are not JSON Schema of these drafts. They are refused,
// because ignoring them would change the meaning of the document.
var foreign = map[string]string{
	"nullable":        `is a word of OpenAPI 3.0: write "type": ["…", "null"], or "$schema": "` + OpenAPI30 + `" at the root`,
	"divisibleBy":     "is a word of draft-03: write multipleOf",
	"disallow":        "is a word of draft-03: write not",
	"extends":         "is a word of draft-03: write allOf",
	"optional":        "is no keyword: leave the name out of required",
	"property":        "is no keyword: write properties",
	"patternProperty": "is no keyword: write patternProperties",
}

// shapeOf returns the form of the subschemas of a keyword.
func shapeOf(name string) shape { return vocabulary[name].shape }

// RoleOf returns the role of a keyword of any draft; 0 for other words.
func RoleOf(name string) Role { return vocabulary[name].role }

// HoldsSchemas reports whether the value of a keyword is or contains schemas.
func HoldsSchemas(name string) bool { return shapeOf(name) != notSchema }

// HoldsTable reports whether the value of a keyword is an object of schemas.
func HoldsTable(name string) bool { return shapeOf(name) == table || shapeOf(name) == depends }

// Knows reports whether the draft has the keyword.
func (d Draft) Knows(name string) bool {
	k, known := vocabulary[name]
	return known && k.in(d)
}

// Keywords returns the names of the members of a schema in a fixed order.
func (n *Node) Keywords() []string { return slices.Sorted(maps.Keys(n.Object)) }

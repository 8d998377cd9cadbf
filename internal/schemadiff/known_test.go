package schemadiff

// difference is a schema of schematest.Cases about which a library is wrong.
type difference struct {
	schema   string
	from, to int // the first and the last draft: 0 is draft-04, 4 is 2020-12
	values   []string
	why      string
}

const (
	whyInteger = "the specification of draft-04 defines an integer as a number without fraction and exponent"
	whyRegex   = "ECMA-262 has these expressions, and RE2 does not"
	whyContent = "contentMediaType and contentSchema are annotations"
	whyURI     = "RFC 3986 and RFC 3987 do not have these characters"
	whyURITmpl = "RFC 6570 has another grammar"
	whyFormat  = "an unknown format is an annotation"
)

// formatErrs are those of both libraries.
var formatErrs = []difference{
	{`{"format":"regex"}`, 2, 4, []string{`"a{1,2000}"`, `"\\u{1F600}"`}, whyRegex},
	{`{"format":"regex"}`, 2, 4, []string{`"(?i)a"`, `"(?P<x>a)"`}, "RE2 has these expressions, and ECMA-262 does not"},
	{
		`{"format":"uri"}`, 0, 4,
		[]string{`"http://example.com/\u00fc"`, `"http://a/{x}"`, `"http://a/<x>"`, `"http://a/\"x\""`, `"http://a/^x"`, `"http://a/b|c"`, `"http:\\\\x"`}, whyURI,
	},
	{`{"format":"iri"}`, 2, 4, []string{`"http://a/{x}"`, `"http://a/b|c"`}, whyURI},
	{`{"format":"uri-template"}`, 1, 4, []string{`"{+x:3}"`, `"{?a,b*}"`, `"a/{#x.y}"`, `"a b"`, `"{}"`, `"{x y}"`, `"a\\b"`}, whyURITmpl},
}

var kaptinlinErrs = append([]difference{
	{`{"type":"integer"}`, 0, 0, []string{`1.0`, `1e2`}, whyInteger},
	{`{"format":"regex"}`, 2, 4, []string{`"(?=x)y"`, `"(a)\\1"`}, whyRegex},
	{`{"format":"something-else"}`, 0, 4, []string{`"x"`, `""`, `1`}, whyFormat},
	{`{"format":"idn-email"}`, 0, 4, []string{`"a"`, `""`, `"@example.com"`, `"a@"`, `1`}, whyFormat},
	{`{"format":"idn-hostname"}`, 0, 4, []string{`"-a.com"`, `"a_b.com"`, `"a..b"`, `""`, `1`}, whyFormat},
	{`{"contentMediaType":"application/json"}`, 2, 4, []string{`"{:}"`}, whyContent},
	{`{"contentMediaType":"application/json","contentSchema":{"type":"integer"}}`, 3, 4, []string{`"\"x\""`}, whyContent},
	{`{"contains":{"type":"string"},"unevaluatedItems":false}`, 3, 3, []string{`["a"]`}, "contains evaluates nothing in 2019-09"},
	{
		`{"unevaluatedItems":{"type":["array","string"],"prefixItems":[true,true]}}`, 4, 4, []string{`[["a","b"],1]`},
		"the library takes the indices of an element for those of the array",
	},
}, formatErrs...)

var santhoshErrs = append([]difference{
	{`{"type":"integer"}`, 0, 0, []string{`1.0`, `1e2`}, whyInteger},
	{`{"format":"email"}`, 0, 4, []string{`"@example.com"`}, "RFC 5321 wants a local part"},
	{`{"format":"regex"}`, 2, 4, []string{`"(?=x)y"`, `"(a)\\1"`}, whyRegex},
	{`{"contentMediaType":"application/json"}`, 2, 4, []string{`"{:}"`}, whyContent},
	{`{"contentMediaType":"application/json","contentSchema":{"type":"integer"}}`, 3, 4, []string{`"\"x\""`}, whyContent},
}, formatErrs...)

package schematest

import (
	"fmt"
	"strings"
)

// Doubling returns a short document that applies the schema leaf 2^n times to the field v.
func Doubling(n int, leaf string) string {
	var b strings.Builder
	b.WriteString(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"v":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d":%s}}`, n, leaf)
	return b.String()
}

// Listed returns count members or elements, separated by commas. format has a verb %s, which
// stands for the number of the element, in hexadecimal.
func Listed(count int, format string) string {
	all := make([]string, count)
	for i := range all {
		all[i] = fmt.Sprintf(format, fmt.Sprintf("%x", i))
	}
	return strings.Join(all, ",")
}

package arch_test

import (
	"fmt"
	"regexp"
	"strings"
)

// verb is a function or a method that ends a call by control flow.
var verb = regexp.MustCompile(`^(Abort|Respond)`)

// controlFlowBelongsToHooks: the runtime lets a tool abort and respond, but a built-in
// tool does neither (HK-17, C-39): it returns a value or an error. It may use RetryAfter,
// because only the tool knows that nothing has happened. Of Pawl's own steps only the
// cache responds (CF-07).
func controlFlowBelongsToHooks(t *tree) (found []violation) {
	for _, c := range t.calls {
		pkgPath, name := home(c.symbol)
		switch {
		case within(c.pkg, "tools") && (pkgPath == "toolspec" && verb.MatchString(name) || pkgPath == "toolspec/hook"):
			found = append(found, violation{t.at(c.at), fmt.Sprintf("%s may not use %s: control flow belongs to hooks, and a tool to its purpose", c.pkg, c.symbol)})
		case pkgPath == "activities/stage" && name == "Respond" && c.pkg != "activities/cache":
			found = append(found, violation{t.at(c.at), fmt.Sprintf("%s may not use %s: of Pawl's own steps only the cache answers a call", c.pkg, c.symbol)})
		}
	}
	return found
}

// home splits the full name of a function, or of a method such as
// (*module/p.T).Do, into its package within the module and its own name.
func home(symbol string) (pkgPath, name string) {
	symbol = strings.NewReplacer("(", "", ")", "", "*", "").Replace(symbol)
	dot := strings.LastIndex(symbol, ".")
	in, name := symbol[:dot], symbol[dot+1:]
	slash := strings.LastIndex(in, "/")
	if dot := strings.Index(in[slash+1:], "."); dot >= 0 {
		in = in[:slash+1+dot]
	}
	pkgPath, _ = ours(in)
	return pkgPath, name
}

package condition

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/pawl-run/pawl/toolspec/weburl"
)

const (
	// hostName is the function that returns the host of a URL.
	hostName = "host"
	// hostCost is the cost of one call of host, in CEL's units: a URL has at most weburl.MaxLength bytes.
	hostCost = 50
)

// hostFunction declares host(url). The adapter that fetches a page reads the URL with the same code. A text
// that is no URL of a web page is an error, so the condition fails.
func hostFunction() cel.EnvOption {
	return cel.Function(hostName, cel.Overload("host_string", []*cel.Type{cel.StringType}, cel.StringType,
		cel.UnaryBinding(func(value ref.Val) ref.Val {
			text, ok := value.(types.String)
			if !ok {
				return types.MaybeNoSuchOverloadErr(value)
			}
			host, err := weburl.Host(string(text))
			if err != nil {
				return types.NewErrFromString("host: " + err.Error())
			}
			return types.String(host)
		})))
}

package policy

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"

	"github.com/pawl-run/pawl/toolspec"
)

// Sizes by which the cost of a condition is estimated, in characters or entries.
const (
	// ordinarySize is what is expected of one argument, or of one list or object
	// among them: conditions over two lists pass, and over three do not.
	ordinarySize = 64
	// shortSize bounds what is not an argument.
	shortSize = 256
)

// costs estimates a condition: for ordinary arguments, and for the largest that
// a tool may take.
func costs(checked *cel.Ast) (expected, most uint64, err error) {
	ordinary, err := looseEnv().EstimateCost(checked, sizes(ordinarySize))
	if err != nil {
		return 0, 0, err
	}
	largest, err := looseEnv().EstimateCost(checked, sizes(toolspec.MaxInline))
	return ordinary.Max, largest.Max, err
}

// sizes is the largest size of any one argument.
type sizes uint64

// EstimateSize bounds what comes from the call.
func (s sizes) EstimateSize(element cost.AstNode) *cost.SizeEstimate {
	path := element.Path()
	if len(path) == 0 {
		return nil
	}
	most := uint64(shortSize)
	if path[0] == argsName {
		most = uint64(s)
	}
	size := cost.RangedSizeEstimate(0, most)
	return &size
}

// EstimateCallCost leaves functions to the library.
func (sizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

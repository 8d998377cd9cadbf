package condition

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"

	"github.com/pawl-run/pawl/toolspec"
)

// Sizes for the estimate of the cost of a condition, in characters or entries.
const (
	// ordinarySize is the expected size of one argument, or of a list or object in the arguments. With this size,
	// the estimate accepts a condition that walks a list inside another list, and refuses a third list inside
	// these.
	ordinarySize = 64
	// shortSize is the maximum size of a variable that is not an argument.
	shortSize = 256
)

// costs estimates the cost of a condition: for arguments of ordinary size, and for the largest
// arguments that a tool may take.
func costs(checked *cel.Ast) (expected, most uint64, err error) {
	ordinary, err := looseEnv().EstimateCost(checked, sizes(ordinarySize))
	if err != nil {
		return 0, 0, err
	}
	largest, err := looseEnv().EstimateCost(checked, sizes(toolspec.MaxInline))
	return ordinary.Max, largest.Max, err
}

// sizes is the maximum size of any one argument.
type sizes uint64

// EstimateSize returns the size range of a variable of the call.
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

// EstimateCallCost returns the cost of host. The library estimates the cost of its own functions.
func (sizes) EstimateCallCost(function, _ string, _ *cost.AstNode, _ []cost.AstNode) *cost.CallEstimate {
	if function != hostName {
		return nil
	}
	size := cost.RangedSizeEstimate(0, shortSize)
	return cost.NewCallEstimate(cost.FixedCostEstimate(hostCost), &size)
}

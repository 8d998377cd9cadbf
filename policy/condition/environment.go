package condition

import (
	"fmt"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/ext"

	"github.com/pawl-run/pawl/policy/document"
)

// Bounds of a condition, besides document.MaxCondition.
const (
	// maxNodes and maxDepth bound the parsed expression with its macros expanded.
	maxNodes = 2000
	maxDepth = 100
	// maxRegex bounds a regular expression, in instructions of its compiled form.
	maxRegex = 1000
	// maxCost is in CEL's cost units, about 100 ns each. It limits the cost of one
	// evaluation, and the estimated cost for arguments of ordinary size.
	maxCost = 100_000
	// maxMemory limits the memory of one evaluation. Its unit is one entry, or ten
	// characters.
	maxMemory = 1 << 20
)

// argsName is the variable that is not known before hydration.
const argsName = "args"

// baseEnv returns the CEL environment of conditions, without args. The libraries Strings and Sets
// have fixed versions, because an upgrade must not change the meaning of a stored policy.
var baseEnv = sync.OnceValue(func() *cel.Env {
	options := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(env.NewLibrarySubset().AddExcludedFunctions(localTime()...))),
		cel.OptionalTypes(cel.OptionalTypesVersion(2)),
		ext.Strings(ext.StringsVersion(5)), ext.Sets(ext.SetsVersion(1)),
		cel.CustomTypeAdapter(adapter{}),
		cel.CrossTypeNumericComparisons(true),
		cel.DefaultUTCTimeZone(true),
		cel.EnableIdentifierEscapeSyntax(),
		cel.EnableMacroCallTracking(),
		cel.ParserExpressionSizeLimit(document.MaxCondition),
		cel.ParserRecursionLimit(maxDepth),
		cel.ExpressionNodeLimit(maxNodes),
		cel.RegexProgramSizeLimit(maxRegex),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
		hostFunction(),
	}
	for _, name := range variableNames() {
		of := cel.StringType
		if name == "roles" || name == "tool.tags" {
			of = cel.ListType(cel.StringType)
		}
		options = append(options, cel.Variable(name, of))
	}
	made, err := cel.NewCustomEnv(options...)
	if err != nil {
		panic(fmt.Sprintf("policy: the language of conditions is faulty: %v", err)) // every test builds it
	}
	return made
})

// looseEnv returns the environment in which args is an object with members of any type.
var looseEnv = sync.OnceValue(func() *cel.Env {
	made, err := baseEnv().Extend(cel.Variable(argsName, cel.MapType(cel.StringType, cel.DynType)))
	if err != nil {
		panic(fmt.Sprintf("policy: the language of conditions is faulty: %v", err))
	}
	return made
})

// localTime returns the functions of CEL with the name of a time zone as a parameter. Conditions cannot use them:
// they read the time zones of the machine, and two workers may have different ones.
func localTime() []*env.Function {
	byFunction := map[string]string{
		overloads.TimeGetFullYear:     overloads.TimestampToYearWithTz,
		overloads.TimeGetMonth:        overloads.TimestampToMonthWithTz,
		overloads.TimeGetDayOfYear:    overloads.TimestampToDayOfYearWithTz,
		overloads.TimeGetDayOfMonth:   overloads.TimestampToDayOfMonthZeroBasedWithTz,
		overloads.TimeGetDate:         overloads.TimestampToDayOfMonthOneBasedWithTz,
		overloads.TimeGetDayOfWeek:    overloads.TimestampToDayOfWeekWithTz,
		overloads.TimeGetHours:        overloads.TimestampToHoursWithTz,
		overloads.TimeGetMinutes:      overloads.TimestampToMinutesWithTz,
		overloads.TimeGetSeconds:      overloads.TimestampToSecondsWithTz,
		overloads.TimeGetMilliseconds: overloads.TimestampToMillisecondsWithTz,
	}
	var list []*env.Function
	for function, overload := range byFunction {
		list = append(list, env.NewFunction(function, env.NewOverload(overload, nil, nil)))
	}
	return list
}

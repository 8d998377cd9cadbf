package condition

import (
	"encoding/json"
	"errors"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/pawl-run/pawl/toolspec"
)

// Variables are what a condition sees of one call. They decode the arguments and compute the roles once, when a
// condition first uses them. Only one goroutine may use them.
type Variables struct {
	TenantID, ActorID, SubjectID, RunID, ConnectionID, ToolID string

	Effect toolspec.Effect
	Risk   toolspec.Risk
	// Tags are the tags of the tool. With TagsUnknown a condition that uses them fails.
	Tags        []string
	TagsUnknown bool
	// Roles returns the roles of the actor, sorted. It is called at most once.
	Roles func() []string
	// Args are the arguments. They are used only if HasArgs is set, because they are not known
	// before hydration.
	Args    json.RawMessage
	HasArgs bool

	// args and roles are the values that conditions see.
	args  any
	roles ref.Val
}

// variableNames returns the names of all variables of a condition except args.
func variableNames() []string {
	return []string{"actor", "connection", "roles", "run", "subject", "tenant", "tool.effect", "tool.id", "tool.risk", "tool.tags"}
}

// activation gives the values of variables to the library.
type activation Variables

// ResolveName returns the value of a variable.
func (a *activation) ResolveName(name string) (any, bool) {
	switch name {
	case argsName:
		return a.arguments(), true
	case "tool.id":
		return a.ToolID, true
	case "tool.effect":
		return string(a.Effect), true
	case "tool.risk":
		return string(a.Risk), true
	case "tool.tags":
		if a.TagsUnknown {
			return types.NewErr("the tags of the tool are not known"), true
		}
		return types.NewStringList(adapter{}, a.Tags), true
	case "actor":
		return a.ActorID, true
	case "subject":
		return a.SubjectID, true
	case "tenant":
		return a.TenantID, true
	case "run":
		return a.RunID, true
	case "connection":
		return a.ConnectionID, true
	case "roles":
		if a.roles == nil {
			a.roles = types.NewStringList(adapter{}, a.Roles())
		}
		return a.roles, true
	}
	return nil, false
}

// Parent returns nil: there is no outer scope.
func (*activation) Parent() interpreter.Activation { return nil }

// arguments returns the decoded arguments, or an error value of CEL if they are not known or are no JSON object.
func (a *activation) arguments() any {
	if a.args != nil {
		return a.args
	}
	args, err := decodeArgs(a.Args)
	if err != nil || !a.HasArgs {
		// A condition that uses the arguments then fails.
		a.args = types.WrapErr(errors.New("the arguments are no JSON object"))
	} else {
		a.args = args
	}
	return a.args
}

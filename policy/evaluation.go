package policy

import (
	"errors"
	"slices"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// evaluation is the state of judging one call. It computes each value for the rules once. Only
// one goroutine may use it.
type evaluation struct {
	facts  Facts
	tenant *tenant
	roles  []string
	// cast says that roles has been computed.
	cast bool
	// args and roleList are the values that conditions see.
	args     any
	roleList ref.Val
}

func (t *tenant) evaluation(f Facts) *evaluation { return &evaluation{facts: f, tenant: t} }

// ResolveName returns the value of a variable of a condition.
func (e *evaluation) ResolveName(name string) (any, bool) {
	switch name {
	case argsName:
		return e.arguments(), true
	case "tool.id":
		return e.facts.ToolID, true
	case "tool.effect":
		return string(e.facts.Effect), true
	case "tool.risk":
		return string(e.facts.Risk), true
	case "tool.tags":
		if e.facts.TagsUnknown {
			return types.NewErr("the tags of the tool are not known"), true
		}
		return types.NewStringList(adapter{}, e.facts.Tags), true
	case "actor":
		return e.facts.ActorID, true
	case "subject":
		return e.facts.SubjectID, true
	case "tenant":
		return e.facts.TenantID, true
	case "run":
		return e.facts.RunID, true
	case "connection":
		return e.facts.ConnectionID, true
	case "roles":
		if e.roleList == nil {
			e.roleList = types.NewStringList(adapter{}, e.rolesOf())
		}
		return e.roleList, true
	}
	return nil, false
}

// Parent returns nil: there is no outer scope.
func (*evaluation) Parent() interpreter.Activation { return nil }

func (e *evaluation) arguments() any {
	if e.args != nil {
		return e.args
	}
	args, err := decodeArgs(e.facts.Args)
	if err != nil || !e.facts.HasArgs {
		// A condition that uses the arguments then fails.
		e.args = types.WrapErr(errors.New("the arguments are no JSON object"))
	} else {
		e.args = args
	}
	return e.args
}

// rolesOf returns the roles of the actor, sorted.
func (e *evaluation) rolesOf() []string {
	if !e.cast {
		e.roles, e.cast = e.tenant.rolesOf(e.facts.ActorID), true
		if len(e.facts.Roles) > 0 {
			e.roles = append(e.roles, e.facts.Roles...)
			slices.Sort(e.roles)
			e.roles = slices.Compact(e.roles)
		}
	}
	return e.roles
}

func (e *evaluation) hasOne(roles []string) bool {
	return slices.ContainsFunc(roles, func(r string) bool { return slices.Contains(e.rolesOf(), r) })
}

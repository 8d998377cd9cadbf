package condition

import (
	"fmt"
	"maps"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// typeProvider tells the type checker of CEL which fields the objects in the arguments have. It is used for checks
// only, not for evaluation.
type typeProvider struct {
	types.Provider
	objects map[string]*shape
	names   map[*shape]string
	// unknownFields has the names of unknown fields that the condition uses, each with the object that lacks it.
	unknownFields map[string]*shape
}

func newTypeProvider(base types.Provider) *typeProvider {
	return &typeProvider{Provider: base, objects: map[string]*shape{}, names: map[*shape]string{}, unknownFields: map[string]*shape{}}
}

// typeOf returns the CEL type of a shape.
func (t *typeProvider) typeOf(s *shape) *types.Type {
	switch s.kind {
	case boolean:
		return nullable(s, types.BoolType)
	case whole:
		return nullable(s, types.IntType)
	case text:
		return nullable(s, types.StringType)
	case list:
		if !s.null {
			return types.NewListType(t.typeOf(s.elem))
		}
	case object:
		if len(s.fields) > 0 || !s.open {
			return types.NewObjectType(t.name(s))
		}
		if s.elem != nil && !s.null {
			return types.NewMapType(types.StringType, t.typeOf(s.elem))
		}
	case anything, number: // a number is a CEL int if it is whole
	}
	return types.DynType
}

func nullable(s *shape, of *types.Type) *types.Type {
	if s.null {
		return types.NewNullableType(of)
	}
	return of
}

func (t *typeProvider) name(s *shape) string {
	if name, ok := t.names[s]; ok {
		return name
	}
	name := fmt.Sprintf("pawl.object%d", len(t.objects))
	t.names[s], t.objects[name] = name, s
	for _, field := range sortedKeys(s.fields) {
		t.typeOf(s.fields[field])
	}
	return name
}

// FindStructType returns the type of an object.
func (t *typeProvider) FindStructType(name string) (*types.Type, bool) {
	if _, ok := t.objects[name]; ok {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return t.Provider.FindStructType(name)
}

// FindStructFieldNames lists the fields of an object.
func (t *typeProvider) FindStructFieldNames(name string) ([]string, bool) {
	if s, ok := t.objects[name]; ok {
		return sortedKeys(s.fields), true
	}
	return t.Provider.FindStructFieldNames(name)
}

// FindStructFieldType returns the type of a field of an object.
func (t *typeProvider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	s, ok := t.objects[name]
	if !ok {
		return t.Provider.FindStructFieldType(name, field)
	}
	if f := s.fields[field]; f != nil {
		return &types.FieldType{Type: t.typeOf(f)}, true
	}
	if s.open {
		return &types.FieldType{Type: types.DynType}, true
	}
	t.unknownFields[field] = s
	return nil, false
}

// env returns the environment for conditions on arguments of a known shape. In a condition an argument object is
// also a map, so env declares args["x"], "x" in args and size(args) for objects.
func (t *typeProvider) env(args *shape) (*cel.Env, error) {
	options := []cel.EnvOption{cel.CustomTypeProvider(t), cel.Variable(argsName, t.typeOf(args))}
	for _, name := range slices.Sorted(maps.Keys(t.objects)) {
		of := types.NewObjectType(name)
		options = append(options,
			cel.Function(operators.Index, cel.Overload("index_"+name, []*types.Type{of, types.StringType}, types.DynType)),
			cel.Function(operators.OptIndex, cel.Overload("opt_index_"+name, []*types.Type{of, types.StringType}, types.NewOptionalType(types.DynType))),
			cel.Function(operators.In, cel.Overload("in_"+name, []*types.Type{types.StringType, of}, types.BoolType)),
			cel.Function(overloads.Size, cel.Overload("size_"+name, []*types.Type{of}, types.IntType),
				cel.MemberOverload("size_of_"+name, []*types.Type{of}, types.IntType)),
		)
	}
	return baseEnv().Extend(options...)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

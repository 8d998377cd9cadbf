package provide

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Recipes reads the forms in which a hook may return bindings (specification 000): a map from token
// ids to recipes, a slice of recipes, or a struct whose exported fields are all recipes. An empty
// field binds nothing. A map is read in the order of its tokens.
func Recipes(v any) ([]Recipe, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []Recipe:
		return slices.Clone(v), nil
	case map[string]Recipe:
		var recipes []Recipe
		for _, token := range slices.Sorted(maps.Keys(v)) {
			r := v[token]
			if r.Token != token {
				return nil, fmt.Errorf("the recipe under %q is for token %q", token, r.Token)
			}
			recipes = append(recipes, r)
		}
		return recipes, nil
	}
	object := reflect.Indirect(reflect.ValueOf(v))
	if object.Kind() != reflect.Struct {
		return nil, fmt.Errorf("a %T is none of map[string]provide.Recipe, []provide.Recipe and a struct of recipes", v)
	}
	var recipes []Recipe
	for field, value := range object.Fields() {
		if !field.IsExported() {
			continue
		}
		r, ok := value.Interface().(Recipe)
		if !ok {
			return nil, fmt.Errorf("field %s is no recipe", field.Name)
		}
		if r.Token != "" {
			recipes = append(recipes, r)
		}
	}
	return recipes, nil
}

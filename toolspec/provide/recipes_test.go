package provide_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/provide"
)

// TestRecipeRefused: what would be recorded holds no secret (DI-09, CX-13).
func TestRecipeRefused(t *testing.T) {
	secret := "ghp_" + strings.Repeat("a1B2", 9)
	for name, tc := range map[string]struct {
		make func() (provide.Recipe, error)
		want string
	}{
		"secret value": {func() (provide.Recipe, error) { return (&maker{}).factory("made").With(rootArgs{Name: secret}) }, "shape of a secret"},
		"secret name": {func() (provide.Recipe, error) {
			return provide.NewFactory("made", token, func(context.Context, map[string]string) (*root, error) { return nil, nil }).With(map[string]string{"password": "x"})
		}, "shape of a secret"},
		"too large": {func() (provide.Recipe, error) {
			return (&maker{}).factory("made").With(rootArgs{Name: strings.Repeat("x", provide.MaxArgs)})
		}, "larger than"},
		"no JSON": {func() (provide.Recipe, error) {
			return provide.NewFactory("made", token, func(context.Context, func()) (*root, error) { return nil, nil }).With(func() {})
		}, "cannot be written"},
		"factory id": {func() (provide.Recipe, error) { return (&maker{}).factory("Made!").With(rootArgs{}) }, `factory "Made!"`},
		"token id": {func() (provide.Recipe, error) {
			r := provide.Recipe{Token: "Root", Factory: "made"}
			return r, r.Check()
		}, `token "Root"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := tc.make(); err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), secret) {
				t.Errorf("got %v, want words of %q", err, tc.want)
			}
		})
	}
}

// TestForms: the three forms in which a hook may return bindings (DI-05).
func TestForms(t *testing.T) {
	var m maker
	a := recipe(t, m.factory("made"), "a")
	b := provide.Recipe{Token: "other", Factory: "made"}
	type object struct {
		First, Second, Empty provide.Recipe
	}
	for name, form := range map[string]any{
		"map": map[string]provide.Recipe{"root": a, "other": b}, "slice": []provide.Recipe{b, a},
		"struct": object{First: b, Second: a}, "pointer": &object{First: b, Second: a},
	} {
		if got, err := provide.Recipes(form); err != nil || !reflect.DeepEqual(got, []provide.Recipe{b, a}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, form := range map[string]any{
		"a map with another name": map[string]provide.Recipe{"x": a}, "a number": 7, "a struct of other things": struct{ A int }{1}, "a nil pointer": (*object)(nil),
	} {
		if got, err := provide.Recipes(form); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, err := provide.Recipes(nil); got != nil || err != nil {
		t.Errorf("nothing is %+v, %v", got, err)
	}
}

package catalog_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// SP-11: an argument that is named like a secret is refused, unless the author declares
// that name harmless; the declaration is published and part of the tool digest.
func TestHarmlessNames(t *testing.T) {
	type counted struct {
		Token string `json:"token"`
		Deep  struct {
			Secret string `json:"secret,omitempty"`
		} `json:"deep"`
	}
	type plain struct {
		Text string `json:"text"`
	}
	type connected struct {
		Token        string `json:"token"`
		ConnectionID string `json:"connectionId"`
	}
	of := func(names ...string) toolspec.Definition {
		d := definition()
		d.Redaction.MaskInput, d.HarmlessNames = nil, names
		return d
	}
	for name, c := range map[string]struct {
		tool toolspec.Tool
		want string // of the error
	}{
		"declared":            {tool[counted, out](of("token", "secret")), ""},
		"not declared":        {tool[counted, out](of()), "/properties/"},
		"one of two":          {tool[counted, out](of("token")), "/properties/deep/properties/secret"},
		"another spelling":    {tool[counted, out](of("Token", "secret")), "/properties/token"},
		"no such argument":    {tool[plain, out](of("token")), `no field "token"`},
		"no secret":           {tool[plain, out](of("text")), `"text" does not look like a credential`},
		"the connection":      {tool[connected, out](of("token", "connectionId")), `"connectionId" does not look like a credential`},
		"beside a connection": {tool[connected, out](of("token")), "connectionId comes in the invocation context"},
	} {
		b, err := catalog.Bind(c.tool, provided(t))
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v", name, err)
		case err == nil && !slices.Equal(b.Spec().HarmlessNames, []string{"token", "secret"}):
			t.Errorf("%s: %v is published", name, b.Spec().HarmlessNames)
		}
	}
	one, two := bind(t, tool[counted, out](of("token", "secret"))), bind(t, tool[counted, out](of("secret", "token")))
	if one.Digest() == two.Digest() {
		t.Error("the declaration is no part of the tool digest")
	}
}

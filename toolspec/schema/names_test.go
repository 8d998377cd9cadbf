package schema

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

func TestCheckInputRefusesNames(t *testing.T) {
	for doc, pointer := range map[string]string{
		`"properties":{"connectionId":{}}`:                                            "/properties/connectionId",
		`"properties":{"ConnectionID":{}}`:                                            "/properties/ConnectionID",
		`"properties":{"connection_id":{}}`:                                           "/properties/connection_id",
		`"properties":{"a":{"properties":{"connectionId":{}}}}`:                       "/properties/a/properties/connectionId",
		`"properties":{"a":{"items":{"properties":{"connectionId":{}}}}}`:             "/properties/a/items/properties/connectionId",
		`"properties":{"a":{"items":[{},{"properties":{"connectionId":{}}}]}}`:        "/properties/a/items/1/properties/connectionId",
		`"properties":{"a":{"additionalItems":{"properties":{"connectionId":{}}}}}`:   "/properties/a/additionalItems/properties/connectionId",
		`"properties":{"a":{"prefixItems":[{"properties":{"connectionId":{}}}]}}`:     "/properties/a/prefixItems/0/properties/connectionId",
		`"properties":{"a":{"contains":{"properties":{"connectionId":{}}}}}`:          "/properties/a/contains/properties/connectionId",
		`"properties":{"a":{"unevaluatedItems":{"properties":{"connectionId":{}}}}}`:  "/properties/a/unevaluatedItems/properties/connectionId",
		`"properties":{"a":{"contentSchema":{"properties":{"connectionId":{}}}}}`:     "/properties/a/contentSchema/properties/connectionId",
		`"$defs":{"a":{"properties":{"connectionId":{}}}}`:                            "/$defs/a/properties/connectionId",
		`"definitions":{"a":{"properties":{"connectionId":{}}}}`:                      "/definitions/a/properties/connectionId",
		`"allOf":[{"properties":{"connectionId":{}}}]`:                                "/allOf/0/properties/connectionId",
		`"anyOf":[{},{"properties":{"connectionId":{}}}]`:                             "/anyOf/1/properties/connectionId",
		`"oneOf":[{"properties":{"connectionId":{}}}]`:                                "/oneOf/0/properties/connectionId",
		`"not":{"properties":{"connectionId":{}}}`:                                    "/not/properties/connectionId",
		`"if":{"properties":{"connectionId":{}}}`:                                     "/if/properties/connectionId",
		`"then":{"properties":{"connectionId":{}}}`:                                   "/then/properties/connectionId",
		`"else":{"properties":{"connectionId":{}}}`:                                   "/else/properties/connectionId",
		`"patternProperties":{"x":{"properties":{"connectionId":{}}}}`:                "/patternProperties/x/properties/connectionId",
		`"patternProperties":{"^connectionId$":{}}`:                                   "/patternProperties/^connectionId$",
		`"dependentSchemas":{"x":{"properties":{"connectionId":{}}}}`:                 "/dependentSchemas/x/properties/connectionId",
		`"dependentSchemas":{"connectionId":{}}`:                                      "/dependentSchemas/connectionId",
		`"dependencies":{"x":{"properties":{"connectionId":{}}}}`:                     "/dependencies/x/properties/connectionId",
		`"dependencies":{"x":["connectionId"]}`:                                       "/dependencies/x",
		`"dependentRequired":{"x":["connectionId"]}`:                                  "/dependentRequired/x",
		`"dependentRequired":{"connectionId":["x"]}`:                                  "/dependentRequired/connectionId",
		`"additionalProperties":{"properties":{"connectionId":{}}}`:                   "/additionalProperties/properties/connectionId",
		`"unevaluatedProperties":{"properties":{"connectionId":{}}}`:                  "/unevaluatedProperties/properties/connectionId",
		`"propertyNames":{"enum":["a","connectionId"]}`:                               "/propertyNames/enum",
		`"propertyNames":{"const":"connectionId"}`:                                    "/propertyNames/const",
		`"required":["a","connectionId"]`:                                             "/required",
		`"properties":{"a":{"required":["connectionId"]}}`:                            "/properties/a/required",
		`"properties":{"accessToken":{}}`:                                             "/properties/accessToken",
		`"properties":{"access_token":{}}`:                                            "/properties/access_token",
		`"properties":{"API-KEY":{}}`:                                                 "/properties/API-KEY",
		`"properties":{"a":{"properties":{"Client.Secret":{}}}}`:                      "/properties/a/properties/Client.Secret",
		`"properties":{"password":{}}`:                                                "/properties/password",
		`"properties":{"Authorization":{}}`:                                           "/properties/Authorization",
		`"properties":{"a":{"anyOf":[{"type":"object","properties":{"bearer":{}}}]}}`: "/properties/a/anyOf/0/properties/bearer",
	} {
		err := CheckInput(json.RawMessage(`{"type":"object",` + doc + `}`))
		var refusal *jsonschema.Refusal
		if !errors.As(err, &refusal) || refusal.Pointer != pointer {
			t.Errorf("%s: got %v", doc, err)
		}
	}
}

func TestCheckInputPasses(t *testing.T) {
	for _, doc := range []string{
		`"properties":{"secretary":{},"tokenCount":{},"maxTokens":{},"passwordless":{},"connection":{},"id":{}}`,
		`"properties":{"a":{"enum":["connectionId","password"],"const":"password","default":{"properties":{"password":1}}}}`,
		`"description":"connectionId","properties":{"properties":{"type":"object"}}`,
		// A map may have any names, so patterns and the parts of propertyNames are not read.
		`"propertyNames":{"anyOf":[{"const":"password"}]}`,
		`"$defs":{"n":{"enum":["password"]}},"propertyNames":{"$ref":"#/$defs/n"}`,
		`"patternProperties":{"^(password|token)$":{}}`,
	} {
		if err := CheckInput(json.RawMessage(`{"type":"object",` + doc + `}`)); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
	// Outputs may have these names: redaction decides which values leave.
	compiled(t, `{"type":"object","properties":{"connectionId":{"type":"string"}}}`)
}

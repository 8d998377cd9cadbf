package docsgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	invopop "github.com/invopop/jsonschema"

	policydoc "github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// policySchema returns the JSON Schema of a policy document. The keys, their bounds and their
// descriptions are those of the structs of package document; terms has the words of the language
// that are no structs, and rules of whole objects are in restrict.
func policySchema() (string, error) {
	reflector := invopop.Reflector{
		Anonymous: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		Namer: func(t reflect.Type) string {
			if rest, ok := strings.CutPrefix(t.Name(), "MCP"); ok {
				return "mcp" + rest
			}
			name := []rune(t.Name())
			if len(name) > 0 {
				name[0] = unicode.ToLower(name[0])
			}
			return string(name)
		},
		Mapper:        policyType,
		LookupComment: func(t reflect.Type, field string) string { return policyObjects[strings.Trim(t.Name()+"."+field, ".")] },
	}
	root := reflector.ReflectFromType(reflect.TypeFor[policydoc.Document]())
	root.Title = "Policy"
	for name, term := range policyTerms() {
		root.Definitions[name] = term
	}
	if err := restrict(root); err != nil {
		return "", err
	}
	raw, err := json.Marshal(root)
	if err != nil {
		return "", err
	}
	if _, err := jsonschema.Compile(raw); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return "", err
	}
	return b.String() + "\n", nil
}

// policyObjects are the descriptions of objects, and of fields that mean something else where they
// are embedded.
var policyObjects = map[string]string{
	"Document": "What the tenants of Pawl allow. Everything is denied that it does not allow. " +
		"`pawl policy check` says more than a schema can: it checks patterns, conditions and references too.",
	"Rule":    "All matchers (tool, roles, effects, risks, commands, when) must match. A deny wins over require_approval, that over allow, and that over the mode.",
	"Budgets": "Bounds that narrow what a tool declares and never widen it.",
	"RuleApprovals": "What is different from the approvals of the tenant. If it has approvers or a chain, nothing stays of the tenant's escalations " +
		"and remembered approvals.",
}

// policyTerms are the definitions that are no objects.
func policyTerms() map[string]*invopop.Schema {
	name := fmt.Sprintf("^[A-Za-z0-9_-]{1,%d}$", policydoc.MaxName)
	return map[string]*invopop.Schema{
		"mode": {
			Enum:        []any{policydoc.Ask, policydoc.Auto, policydoc.Yolo},
			Description: "When to ask a person about a call that no rule speaks of: always, where the risk is medium or high, never.",
		},
		"risk":      {Enum: []any{toolspec.LowRisk, toolspec.MediumRisk, toolspec.HighRisk}},
		"name":      {Type: "string", Pattern: name},
		"roleNames": {Type: "array", MinItems: count(1), MaxItems: count(policydoc.MaxRoles), UniqueItems: true, Items: reference("name")},
		"toolPattern": {
			Type: "string", Pattern: `^[A-Za-z0-9_-]{0,64}\*?$`, MinLength: count(1), MaxLength: count(policydoc.MaxToolPattern),
			Description: "A tool's id, or a prefix of ids and one * at the end.",
		},
		"identityPattern": {
			Type: "string", Pattern: `^[^*]*\*?$`, MinLength: count(1), MaxLength: count(policydoc.MaxIdentity + 1),
			Description: "An identity, or a prefix of identities and one * at the end.",
		},
		"command": {
			Type: "string", Pattern: `^[A-Za-z0-9_./:@%+,-][A-Za-z0-9_./:=@%+,-]*( [A-Za-z0-9_./:=@%+,-]+)*( \*)?$`, MinLength: count(1), MaxLength: count(policydoc.MaxCommand),
			Description: "The words of a command with one space between them: git status. A last word * is for any further words, also none: go test *.",
		},
		"message": {Type: "string", MinLength: count(1), MaxLength: count(policydoc.MaxMessage), Description: "For callers and approvers: one line."},
		"duration": {
			Type: "string", Pattern: `^([0-9]+d|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)$`,
			Description: "Such as 90s, 1h30m or 7d; whole seconds.",
		},
	}
}

// policyType returns the schema of a type of package document that is no object, or nil.
func policyType(t reflect.Type) *invopop.Schema {
	switch t {
	case reflect.TypeFor[policydoc.Pattern]():
		return reference("toolPattern")
	case reflect.TypeFor[policydoc.Command]():
		return reference("command")
	case reflect.TypeFor[policydoc.Members]():
		return &invopop.Schema{Type: "array", MaxItems: count(policydoc.MaxApprovers), Items: reference("identityPattern")}
	case reflect.TypeFor[policydoc.Approvers]():
		return &invopop.Schema{Type: "array", MinItems: count(1), MaxItems: count(policydoc.MaxApprovers), Items: reference("identityPattern")}
	case reflect.TypeFor[policydoc.Effects]():
		return &invopop.Schema{
			Type: "array", MaxItems: count(3),
			Items: &invopop.Schema{Enum: []any{toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect}},
		}
	case reflect.TypeFor[policydoc.RoleNames]():
		return reference("roleNames")
	case reflect.TypeFor[policydoc.Mode]():
		return reference("mode")
	case reflect.TypeFor[toolspec.Effect]():
		return &invopop.Schema{Enum: []any{toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect}}
	case reflect.TypeFor[toolspec.Risk]():
		return reference("risk")
	case reflect.TypeFor[policydoc.Message]():
		return reference("message")
	case reflect.TypeFor[policydoc.Duration]():
		return reference("duration")
	case reflect.TypeFor[policydoc.CacheTime]():
		return &invopop.Schema{AnyOf: []*invopop.Schema{{Const: policydoc.Never}, reference("duration")}}
	}
	return nil
}

// restrict adds the rules of objects that a tag of a field cannot say.
func restrict(root *invopop.Schema) error {
	version, _ := root.Properties.Get("version")
	tenants, _ := root.Properties.Get("tenants")
	tenant, approvals, changes := root.Definitions["tenant"], root.Definitions["approvals"], root.Definitions["ruleApprovals"]
	if version == nil || tenants == nil || tenant == nil || approvals == nil || changes == nil {
		return fmt.Errorf("the document of a policy lacks an object that the generator knows")
	}
	*version = invopop.Schema{Const: policydoc.Version}
	tenants.MinProperties = count(1)
	tenants.PropertyNames = &invopop.Schema{Pattern: `^(\*|[A-Za-z0-9_.-]{1,48})$`}
	for name, most := range map[string]uint64{"roles": policydoc.MaxRoles, "features": policydoc.MaxFeatures} {
		names, ok := tenant.Properties.Get(name)
		if !ok {
			return fmt.Errorf("the entry of a tenant has no %s", name)
		}
		names.MaxProperties, names.PropertyNames = count(most), reference("name")
	}
	servers, ok := root.Properties.Get("mcp")
	if !ok {
		return fmt.Errorf("the document of a policy has no mcp")
	}
	reviews := root.Definitions["mcpServer"]
	if reviews == nil {
		return fmt.Errorf("the servers of mcp have no reviews")
	}
	reviews.MaxProperties, reviews.PropertyNames = count(policydoc.MaxMCPTools), &invopop.Schema{MinLength: count(1), MaxLength: count(toolspec.MaxOwnName)}
	servers.MaxProperties, servers.PropertyNames = count(policydoc.MaxMCPServers), &invopop.Schema{Pattern: "^[A-Za-z0-9_-]{1,32}$"}
	changes.MinProperties = count(1)
	approvers, ok := approvals.Properties.Get("approvers")
	if !ok {
		return fmt.Errorf("the approvals of a tenant have no approvers")
	}
	approvers.Description = "Who may decide. Anyone but the requester where it is left out."
	// The library names the alternatives of required keys.
	for _, object := range root.Definitions {
		for _, alternative := range append(object.AnyOf, object.OneOf...) {
			alternative.Title = ""
		}
	}
	return nil
}

func reference(name string) *invopop.Schema { return &invopop.Schema{Ref: "#/$defs/" + name} }

func count(n uint64) *uint64 { return &n }

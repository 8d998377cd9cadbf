package toolspec

import "fmt"

// NoSchemaMode says what happens to the calls of a tool without an input
// schema.
type NoSchemaMode string

// The modes, the stricter mode first. No mode lets such a call run without an
// approval of a person.
const (
	NoSchemaDeny NoSchemaMode = "deny"
	NoSchemaAsk  NoSchemaMode = "ask"
)

// checkNoSchema returns an error if AllowNoSchema is set and the mode is missing or
// unknown, or if a mode is set without AllowNoSchema.
func (d Definition) checkNoSchema() error {
	switch {
	case d.AllowNoSchema && d.NoSchemaMode == "":
		return fmt.Errorf("allowNoSchema needs a noSchemaMode: deny or ask")
	case !d.AllowNoSchema && d.NoSchemaMode != "":
		return fmt.Errorf("noSchemaMode goes with allowNoSchema only")
	case d.AllowNoSchema && d.NoSchemaMode != NoSchemaDeny && d.NoSchemaMode != NoSchemaAsk:
		return fmt.Errorf("noSchemaMode %q is none of deny, ask", d.NoSchemaMode)
	}
	return nil
}

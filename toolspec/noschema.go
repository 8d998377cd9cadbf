package toolspec

import "fmt"

// NoSchemaMode is what becomes of calls of a tool whose arguments no schema
// describes.
type NoSchemaMode string

// The modes, the stricter one first. There is none that lets such a call pass
// without a person.
const (
	NoSchemaDeny NoSchemaMode = "deny"
	NoSchemaAsk  NoSchemaMode = "ask"
)

// checkNoSchema reports a mode that is missing, has no meaning, or none here.
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

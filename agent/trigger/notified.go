package trigger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"

	"github.com/pawl-run/pawl/toolspec/strictjson"
)

var numberForm = regexp.MustCompile(`^-?[0-9]`)

// Notified returns the event of a notification with this payload. The payload is the data of the event. The error is a *RefusedError if the payload
// is no event.
func (d Document) Notified(payload string) (Event, error) {
	e := Event{Data: json.RawMessage(payload)}
	if len(payload) > MaxEvent || strictjson.Check(e.Data) != nil {
		return Event{}, &RefusedError{"the payload of a notification is not JSON, or an object in it has a name twice"}
	}
	if d.Postgres == nil || d.Postgres.ID == "" {
		sum := sha256.Sum256(e.Data)
		e.ID = hex.EncodeToString(sum[:])
		return e, nil
	}
	raw, err := lookup(e.Data, d.Postgres.ID)
	if err != nil {
		return Event{}, &RefusedError{"the payload of a notification has no value at the path of the id, " + d.Postgres.ID}
	}
	if numberForm.Match(raw) {
		e.ID = string(raw)
	} else if json.Unmarshal(raw, &e.ID) != nil {
		e.ID = ""
	}
	if checkEventID(e.ID) != nil {
		return Event{}, &RefusedError{"the id in the payload of a notification is no number and no text of 1 to 256 visible characters"}
	}
	return e, nil
}

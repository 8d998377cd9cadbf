package frame

import "strconv"

// CallID returns the provider's id of a call. If the provider gave none, CallID makes an id from the
// index of the call, for formats that require an id. So the repeated message and the answer have the
// same id.
func CallID(id string, index int) string {
	if id == "" {
		return "pawl_" + strconv.Itoa(index)
	}
	return id
}

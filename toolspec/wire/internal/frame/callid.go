package frame

import "strconv"

// CallID is the provider's id of a call, or where it gave none one by the place
// of the call, for formats that demand one: the same in the message that is
// repeated and in the answer.
func CallID(id string, index int) string {
	if id == "" {
		return "pawl_" + strconv.Itoa(index)
	}
	return id
}

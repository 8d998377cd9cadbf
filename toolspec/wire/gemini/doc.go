// Package gemini translates to and from the generateContent format of Google, as
// its REST interface has it (camelCase JSON).
//
// A stream may come as server-sent events (alt=sse) or as one JSON array. Parts
// are repeated as they came, for their thought signatures are checked. Arguments
// in pieces (streamFunctionCallArguments, an option of Vertex AI that Pawl never
// asks for) are not put together: such a call is incomplete.
//
// It is pure, like toolspec/wire, and knows no client library. Clients and activities import it;
// workflows must not.
package gemini

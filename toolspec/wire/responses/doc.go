// Package responses translates to and from the format of OpenAI's Responses API:
// flat tools, and items of output in place of one message.
//
// It is pure, like toolspec/wire, and knows no client library. Clients and activities import it;
// workflows must not.
package responses

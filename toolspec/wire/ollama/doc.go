// Package ollama translates to and from the chat format of Ollama (/api/chat).
//
// It is pure, like toolspec/wire, and knows no client library. Clients and activities import it;
// workflows must not.
package ollama

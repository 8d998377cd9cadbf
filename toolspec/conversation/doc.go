// Package conversation is a talk between people, a model and its tools in no
// provider's words: read strictly, checked as a whole, and written as the messages
// of any format. Earlier calls in it are repeated to a model with their results;
// nothing of it ever runs.
//
// It is pure, like package wire below it. Clients and doors import it; workflows
// must not.
package conversation

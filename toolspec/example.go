package toolspec

// Example is a call that shows what a tool is for. docs/tools.md prints it for the built-in tools.
type Example struct {
	// Title says what the call does, in a few words.
	Title string
	// Args are the arguments: a JSON object that the schema of the tool accepts.
	Args string
}

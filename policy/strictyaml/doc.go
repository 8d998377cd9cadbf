// Package strictyaml reads documents that people write in YAML, or in its subset JSON. It refuses
// text that a YAML reader can understand in another way than a person: unknown and repeated keys,
// anchors, tags, a second document, control characters. A Reader reports every fault with its
// line, column and path, and suggests a correct key for a misspelled one.
//
// The package does not know the content of any document. It imports the YAML library,
// policy/suggest and toolspec/strictjson. The packages policy/document, policy/review, toolspec/httptool,
// toolspec/remotetool, provider/price and agent/agentfile read their documents with it; other packages use only its type Errors.
package strictyaml

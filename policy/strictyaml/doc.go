// Package strictyaml reads documents that people write in YAML, or in its subset JSON. It refuses
// text that a YAML reader can understand in another way than a person: unknown and repeated keys,
// anchors, tags, a second document, control characters. A Reader reports every fault with its
// line, column and path, and suggests a correct key for a misspelled one.
//
// The package does not know the content of any document. It imports the YAML library,
// policy/suggest and toolspec/strictjson. Packages that read a document of a person use its Reader; others use its errors
// and positions.
package strictyaml

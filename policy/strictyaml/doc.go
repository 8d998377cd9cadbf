// Package strictyaml reads documents that people write in YAML, or in its subset JSON. It refuses
// whatever could mean something else than a person reads: unknown and repeated keys, anchors, tags,
// a second document, odd characters. A Reader reports every fault with its line, column and path,
// and suggests the key that was probably meant.
//
// It must never know what a document is about. It imports the YAML library and policy/suggest. The packages of
// documents import it: policy/document and policy/review; other packages only take its Errors.
package strictyaml

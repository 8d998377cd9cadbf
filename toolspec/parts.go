package toolspec

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/url"
)

// PartType says what a Part is.
type PartType string

// The types of parts.
const (
	PartText     PartType = "text"
	PartImage    PartType = "image"
	PartAudio    PartType = "audio"
	PartDocument PartType = "document"
	// PartResourceLink is a link to something that the model or the user may fetch.
	PartResourceLink PartType = "resource_link"
)

// Part is a part of a value of the kind parts.
type Part struct {
	Type PartType `json:"type" jsonschema:"enum=text,enum=image,enum=audio,enum=document,enum=resource_link"`
	// Text is the text of a part of the type text.
	Text string `json:"text,omitempty"`
	// MediaType is the media type of Data, or of what URI names: image/png.
	MediaType string `json:"mediaType,omitempty"`
	// Data are the bytes of an image, audio or document. JSON has them as base64 (RFC 4648, padded).
	Data []byte `json:"data,omitempty"`
	// OutputRef names a stored output that has the bytes instead of Data.
	OutputRef string `json:"outputRef,omitempty"`
	// URI is the address of a resource link.
	URI string `json:"uri,omitempty"`
	// Name is for people and models: a file name, a title.
	Name string `json:"name,omitempty"`
	// Bytes is the size of the data that a truncated result leaves out. Pawl sets it; a tool that
	// sets it without OutputRef is refused.
	Bytes int64 `json:"bytes,omitempty"`
}

// Parts is the type of a tool's value that consists of texts, images, audio, documents and links. A
// function that returns Parts makes a tool of the kind parts.
type Parts []Part

// MaxParts bounds the parts of a value.
const MaxParts = 64

// Check reports the first part that lacks what its type needs. The error holds no content of a part.
func (p Parts) Check() error {
	if len(p) > MaxParts {
		return fmt.Errorf("%d parts, of at most %d", len(p), MaxParts)
	}
	for i, part := range p {
		if err := part.check(); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return nil
}

func (p Part) check() error {
	stored := len(p.Data) > 0 || p.OutputRef != ""
	switch p.Type {
	case PartText:
		if stored || p.URI != "" {
			return fmt.Errorf("a part of the type text has only text")
		}
		return nil
	case PartResourceLink:
		if address, err := url.Parse(p.URI); err != nil || address.Scheme == "" || stored {
			return fmt.Errorf("a part of the type resource_link has an absolute uri and no data")
		}
		return nil
	case PartImage, PartAudio, PartDocument:
	default:
		return fmt.Errorf("type is none of text, image, audio, document, resource_link")
	}
	if _, _, err := mime.ParseMediaType(p.MediaType); err != nil {
		return fmt.Errorf("a part of the type %s has a mediaType such as image/png", p.Type)
	}
	if len(p.Data) > 0 == (p.OutputRef != "") || p.Text != "" || p.URI != "" {
		return fmt.Errorf("a part of the type %s has either data or an outputRef, and no text or uri", p.Type)
	}
	if p.Bytes != 0 && p.OutputRef == "" {
		return fmt.Errorf("bytes goes with an outputRef only")
	}
	return nil
}

// partsSchema is what package schema derives from Parts; a test of that package compares them.
const partsSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","items":{` +
	`"properties":{"type":{"type":"string","enum":["text","image","audio","document","resource_link"]},"text":{"type":"string"},"mediaType":{"type":"string"},"data":{"type":"string","contentEncoding":"base64"},` +
	`"outputRef":{"type":"string"},"uri":{"type":"string"},"name":{"type":"string"},"bytes":{"type":"integer"}},"additionalProperties":false,"type":"object","required":["type"]},"type":["array","null"]}`

// PartsSchema returns the output schema document of the kind parts, for a tool of [DefineSchema]
// that returns parts.
func PartsSchema() json.RawMessage { return json.RawMessage(partsSchema) }

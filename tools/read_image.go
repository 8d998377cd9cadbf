package tools

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// imageMost bounds an image of core__read_image, in bytes.
const imageMost = 4 << 20

type readImageIn struct {
	Path string `json:"path" jsonschema:"minLength=1,maxLength=4096" jsonschema_description:"Image to read, relative to the workspace, with slashes."`
}

// ReadImage is core__read_image: an image for the model to look at. It needs capability.Files.
func ReadImage() toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID:    "core__read_image",
		Title: "Look at an image",
		Description: "Shows you an image of the workspace: PNG, JPEG, GIF or WebP, of at most 4 MiB. " +
			"The content of the file decides what it is, and not its name. An image is never cut: a larger one ends with an error. To read text use core__read_file.",
		Version:        "1",
		Effect:         toolspec.ReadOnly,
		Risk:           toolspec.LowRisk,
		MaxResultBytes: imageMost/3*4 + 64<<10, // base64, and the name
		Redaction:      toolspec.Redaction{Allow: []string{"/*/type", "/*/mediaType", "/*/data", "/*/name"}},
		Capabilities:   []toolspec.CapabilityName{capability.FilesKey.Name()},
		Tags:           []string{"files"},
		Examples:       []toolspec.Example{{Title: "Look at a screenshot", Args: `{"path":"docs/screenshot.png"}`}},
	}, readImage)
}

func readImage(ctx context.Context, in readImageIn, call toolspec.Call) (toolspec.Parts, error) {
	file, _, err := capability.FilesKey.From(call).Open(ctx, in.Path, imageMost)
	if err != nil {
		return nil, explain(err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	begin := make([]byte, 16)
	n, err := io.ReadFull(file, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, explain(err)
	}
	mediaType := imageType(begin[:n])
	if mediaType == "" {
		return nil, toolspec.Safef("the file is not a PNG, JPEG, GIF or WebP image")
	}
	data, err := io.ReadAll(io.MultiReader(bytes.NewReader(begin[:n]), file))
	if errors.Is(err, capability.ErrTooLarge) {
		return nil, toolspec.Safef("the image has more than 4 MiB (4194304 bytes)")
	}
	if err != nil {
		return nil, explain(err)
	}
	return toolspec.Parts{{Type: toolspec.PartImage, MediaType: mediaType, Data: data, Name: showable(path.Base(in.Path))}}, nil
}

// imageType returns the media type of an image whose first bytes are begin, or "" if they are not
// those of an image.
func imageType(begin []byte) string {
	for _, s := range []struct{ signature, mediaType string }{
		{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF87a", "image/gif"}, {"GIF89a", "image/gif"},
	} {
		if bytes.HasPrefix(begin, []byte(s.signature)) {
			return s.mediaType
		}
	}
	if len(begin) >= 12 && string(begin[:4]) == "RIFF" && string(begin[8:12]) == "WEBP" {
		return "image/webp"
	}
	return ""
}

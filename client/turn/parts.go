package turn

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/sanitize"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/toolspec/truncate"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// MaxMedia bounds the images, audio and documents of an answer, in bytes of base64. For a part beyond it, the
// answer has a text that names the part.
const MaxMedia = 4 << 20

// maxAllMedia bounds the images, audio and documents of all answers to one response, as MaxMedia bounds those of one answer.
const maxAllMedia = 2 * MaxMedia

// answerParts sets the content and the parts of an answer from a value of the kind parts. ref names the
// whole value. media is how many bytes of base64 the answers may still have; answerParts subtracts those of this
// answer. cut says that the answer has less than the value. ok is false if the value is no list of
// parts, for example because a hook replaced it: the model then reads the value as JSON.
func answerParts(a *wire.Answer, value json.RawMessage, ref string, media *int) (cut, ok bool) {
	clean, sanitized := sanitize.Value(value)
	var parts toolspec.Parts
	if json.Unmarshal(clean, &parts) != nil || len(parts) == 0 || len(parts) > toolspec.MaxParts+1 { // truncate adds a part
		return false, false
	}
	r := partsAnswer{ref: ref, text: MaxAnswer, media: min(MaxMedia, *media), sanitized: sanitized}
	before := r.media
	for i, p := range parts {
		if !r.add(i, p) {
			return false, false
		}
	}
	*media -= before - r.media
	// A first part that is a text becomes the content, because wire.Answer.Text frames a content that
	// begins like a failure. So the model cannot take a text of the tool for a failure.
	a.Parts, a.Sanitized = r.parts, r.sanitized
	content := fmt.Sprintf("The result has %d parts.", len(parts))
	if first := r.parts[0]; parts[0].Type == toolspec.PartText && strings.TrimSpace(first.Data) != "" {
		content, a.Parts = first.Data, r.parts[1:]
	}
	var err error
	a.Content, err = strictjson.Encode(content)
	return r.cut, err == nil
}

// partsAnswer collects the parts of an answer.
type partsAnswer struct {
	ref         string
	text, media int // the bytes that are left for texts and for data
	parts       []wire.Part
	sanitized   []string
	cut         bool
}

// add adds the part at index i. It returns false for a part of an unknown type, or with a media type that is not
// valid.
func (r *partsAnswer) add(i int, p toolspec.Part) bool {
	switch p.Type {
	case toolspec.PartText:
		r.addText(p.Text)
		return true
	case toolspec.PartResourceLink:
		r.addText(fmt.Sprintf("[%s: %s]", label(p), p.URI))
		return true
	case toolspec.PartImage, toolspec.PartAudio, toolspec.PartDocument:
	default:
		return false
	}
	mediaType, _, err := mime.ParseMediaType(p.MediaType)
	size := base64.StdEncoding.EncodedLen(len(p.Data))
	switch {
	case err != nil:
		return false
	case p.OutputRef != "":
		r.addText(fmt.Sprintf("[%s, stored as the output %s]", label(p), p.OutputRef))
	case len(p.Data) == 0:
		r.cut = true
		r.addText(fmt.Sprintf("[%s, %d bytes, is not shown]", label(p), p.Bytes))
	case strings.HasPrefix(mediaType, "text/"):
		text, changed := sanitize.Text(strings.ToValidUTF8(string(p.Data), "\uFFFD"))
		r.sanitized = sanitize.MergeKinds(r.sanitized, changed)
		r.addText(fmt.Sprintf("[%s]\n%s", label(p), text))
	case size > r.media:
		r.cut = true
		r.addText(fmt.Sprintf("[%s, %d bytes, is too large to be shown: it is at /%d/data of the stored value]", label(p), len(p.Data), i))
	default:
		r.media -= size
		r.parts = append(r.parts, wire.Part{MediaType: mediaType, Data: base64.StdEncoding.EncodeToString(p.Data), Name: p.Name})
	}
	return true
}

// addText adds a text, or its beginning.
func (r *partsAnswer) addText(text string) {
	if len(text) > r.text {
		r.cut = true
		text = truncate.Text(text, r.text, false, r.ref)
	}
	r.text = max(r.text-len(text), 0)
	r.parts = append(r.parts, wire.Part{MediaType: "text/plain", Data: text})
}

// label says what a part is: its type, name and media type.
func label(p toolspec.Part) string {
	text := strings.ReplaceAll(string(p.Type), "_", " ")
	if p.Name != "" {
		text += " " + strconv.Quote(p.Name)
	}
	if p.MediaType != "" {
		text += " of type " + p.MediaType
	}
	return text
}

package tools

import (
	"bufio"
	"bytes"
	"io"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/pawl-run/pawl/toolspec"
)

// The encodings of text files, by the names that a caller gives.
const utf8Name = "utf-8"

var encodings = map[string]encoding.Encoding{
	"utf-16le":     unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
	"utf-16be":     unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	"iso-8859-1":   charmap.ISO8859_1,
	"windows-1252": charmap.Windows1252,
}

// marks are the byte order marks, with the encodings that they stand for.
var marks = []struct{ mark, name string }{
	{"\xef\xbb\xbf", utf8Name}, {"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"},
}

// errImage says what to do with an image.
var errImage = toolspec.Safef("the file is an image: look at it with core__read_image")

// readBuffer is how much of a file is in memory, in bytes.
const readBuffer = 128 << 10

// decode returns a reader of the text of a file as UTF-8, without a byte order mark, and the name of
// its encoding: name if it is given, else the encoding of the byte order mark, else UTF-8.
func decode(r io.Reader, name string) (*bufio.Reader, string, error) {
	raw := bufio.NewReaderSize(r, readBuffer)
	// Peek returns an error for a file of fewer than 16 bytes. The next read of raw returns any other
	// error again.
	begin, _ := raw.Peek(16)
	if imageType(begin) != "" {
		return nil, "", errImage
	}
	for _, m := range marks {
		if bytes.HasPrefix(begin, []byte(m.mark)) && (name == "" || name == m.name) {
			name = m.name
			_, _ = raw.Discard(len(m.mark))
		}
	}
	e, other := encodings[name]
	if !other {
		return raw, utf8Name, nil
	}
	return bufio.NewReaderSize(e.NewDecoder().Reader(raw), readBuffer), name, nil
}

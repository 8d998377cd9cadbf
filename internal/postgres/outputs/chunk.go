package outputs

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/pawl-run/pawl/internal/postgres/db"
)

// chunkSize bounds a chunk before it is compressed, in bytes. A reader decompresses a whole chunk, also if it needs one line of it.
const chunkSize = 512 << 10

// chunkCost is added to the compressed size of a chunk when the quota is counted, in bytes: for its rows and their indexes, and for the row
// of its output.
const chunkCost = 1 << 10

// encoder compresses chunks, two at the same time. An encoder holds some megabytes.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(chunkSize), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(fmt.Sprintf("postgres: the options of the encoder are faulty: %v", err))
	}
	return e
})

// decoder decompresses chunks. It refuses a chunk that would be larger than chunkSize.
var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(chunkSize))
	if err != nil {
		panic(fmt.Sprintf("postgres: the options of the decoder are faulty: %v", err))
	}
	return d
})

// chunk is a part of an output that is about to be stored.
type chunk struct {
	firstByte, firstLine int64
	// text says that newlines count.
	text bool
	data []byte
}

func (c chunk) lines() int {
	if !c.text {
		return 0
	}
	return bytes.Count(c.data, []byte{'\n'})
}

func (c chunk) endsLine() bool { return c.text && c.data[len(c.data)-1] == '\n' }

// values returns the parameters of AppendChunk, without the parameters that the store adds.
func (c chunk) values() db.Values {
	data := encoder().EncodeAll(c.data, make([]byte, 0, len(c.data)/4))
	return db.Values{
		"first_byte": c.firstByte, "first_line": c.firstLine, "bytes": len(c.data), "lines": c.lines(), "ends_line": c.endsLine(),
		"data": data, "stored": len(data) + chunkCost, "object": "",
	}
}

// nextLength returns how many bytes of data the next chunk has, at most chunkSize. A chunk of text ends after its last newline, if this
// newline is in the second half of the chunk, so that most lines are in one chunk.
func nextLength(data []byte, text bool) int {
	if len(data) <= chunkSize {
		return len(data)
	}
	if text {
		if end := bytes.LastIndexByte(data[chunkSize/2:chunkSize], '\n'); end >= 0 {
			return chunkSize/2 + end + 1
		}
	}
	return chunkSize
}

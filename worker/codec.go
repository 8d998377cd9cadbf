package worker

import (
	"errors"
	"fmt"
	"os"

	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/internal/codec"
	"github.com/pawl-run/pawl/internal/secretfile"
)

// maxCodecKeys bounds the size of a file of keys, in bytes.
const maxCodecKeys = 2 << 20

// Codec configures the encryption of the payloads that Temporal stores. The zero value encrypts
// nothing.
type Codec struct {
	// Keys is a ring of keys. Each line is `ID KEY` or `TENANT/ID KEY`; KEY is 32 random bytes in
	// base64. The first key encrypts, and all keys decrypt. Keys is the content of the file that
	// PAWL_CODEC_KEYS_FILE names (mode 0600), or the value of PAWL_CODEC_KEYS. It is a secret.
	Keys []byte
	// RefusePlain refuses payloads that are not encrypted: PAWL_CODEC_PLAIN=refuse. By default, a
	// call that started before encryption was configured continues.
	RefusePlain bool
}

// LoadCodec reads the keys from the environment, as LoadConfig does.
func LoadCodec() (c Codec, err error) {
	file, text := os.Getenv("PAWL_CODEC_KEYS_FILE"), os.Getenv("PAWL_CODEC_KEYS")
	switch {
	case file != "" && text != "":
		return c, errors.New("config: both PAWL_CODEC_KEYS_FILE and PAWL_CODEC_KEYS are set: unset one of them")
	case file != "":
		if c.Keys, err = secretfile.Read(file, maxCodecKeys); err != nil {
			return c, fmt.Errorf("config: PAWL_CODEC_KEYS_FILE: %w", err)
		}
		if len(c.Keys) == 0 {
			return c, errors.New("config: PAWL_CODEC_KEYS_FILE names an empty file")
		}
	case text != "":
		c.Keys = []byte(text)
	}
	switch os.Getenv("PAWL_CODEC_PLAIN") {
	case "", "read":
	case "refuse":
		c.RefusePlain = true
	default:
		return c, errors.New("config: PAWL_CODEC_PLAIN must be read or refuse")
	}
	return c, nil
}

// ring parses the keys. Without keys it returns an empty ring.
func (c Codec) ring() (*codec.Ring, error) {
	if len(c.Keys) == 0 {
		if c.RefusePlain {
			return nil, errors.New("config: PAWL_CODEC_PLAIN=refuse needs keys: set PAWL_CODEC_KEYS_FILE or PAWL_CODEC_KEYS")
		}
		return &codec.Ring{}, nil
	}
	ring, err := codec.ParseRing(c.Keys)
	if err != nil {
		return nil, fmt.Errorf("config: PAWL_CODEC_KEYS: %w", err)
	}
	return ring, nil
}

// PayloadCodec returns the codec of this configuration. Without keys it passes payloads unchanged,
// and refuses encrypted payloads.
func (c Codec) PayloadCodec() (converter.PayloadCodec, error) {
	ring, err := c.ring()
	if err != nil {
		return nil, err
	}
	return codec.New(ring, codec.Options{RefusePlain: c.RefusePlain}), nil
}

// withEncryption returns the configuration with the converters of the codec in the options of the Temporal
// client. Converters that the user has set stay, but together with keys they are an error.
func (c Config) withEncryption() (Config, error) {
	if c.encrypted {
		return c, nil
	}
	ring, err := c.Codec.ring()
	switch {
	case err != nil:
		return c, err
	case c.Temporal.DataConverter == nil && c.Temporal.FailureConverter == nil:
		c.Temporal.DataConverter, c.Temporal.FailureConverter = codec.Converters(codec.New(ring, codec.Options{RefusePlain: c.Codec.RefusePlain}))
	case !ring.Empty():
		return c, errors.New("config: Temporal already has a data converter, and PAWL_CODEC_KEYS adds another: remove one of them")
	}
	c.encrypted = true
	return c, nil
}

package codec

import (
	"context"
	"errors"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// undecodable is the encoding of a payload that replaces an input that cannot be opened.
const undecodable = "binary/pawl-undecodable"

// Converters are what a client of Temporal needs to encrypt by the codec. With an
// empty ring the texts of failures stay as they are.
func Converters(c *Codec) (converter.DataConverter, converter.FailureConverter) {
	data := &dataConverter{DataConverter: converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)}
	return data, temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: data, EncodeCommonAttributes: !c.ring.Empty(),
	})
}

// dataConverter keeps a call from failing because a worker lacks a key. In workflow code an error of
// decoding would decide the outcome of the call. So dataConverter panics there if a key is missing:
// the workflow task fails, and Temporal repeats it until a worker has the key.
type dataConverter struct {
	converter.DataConverter
	workflow bool
}

var (
	_ converter.ContextAware                          = (*dataConverter)(nil)
	_ converter.DataConverterWithSerializationContext = (*dataConverter)(nil)
)

// WithWorkflowContext returns a converter for workflow code.
func (d *dataConverter) WithWorkflowContext(converter.WorkflowContext) converter.DataConverter {
	return &dataConverter{DataConverter: d.DataConverter, workflow: true}
}

// WithContext changes nothing: activities and clients return errors.
func (d *dataConverter) WithContext(context.Context) converter.DataConverter { return d }

// WithSerializationContext returns a converter that knows the workflow.
func (d *dataConverter) WithSerializationContext(ctx converter.SerializationContext) converter.DataConverter {
	return &dataConverter{DataConverter: converter.WithDataConverterSerializationContext(d.DataConverter, ctx), workflow: d.workflow}
}

// FromPayload decodes one value.
func (d *dataConverter) FromPayload(p *common.Payload, to any) error {
	return d.decoded(d.DataConverter.FromPayload(p, to), to)
}

// FromPayloads decodes several values.
func (d *dataConverter) FromPayloads(p *common.Payloads, to ...any) error {
	return d.decoded(d.DataConverter.FromPayloads(p, to...), to...)
}

func (d *dataConverter) decoded(err error, to ...any) error {
	if !d.workflow || err == nil || len(to) == 0 {
		return err
	}
	if errors.Is(err, ErrKey) {
		panic(err.Error() + "; give this worker the key (docs/operations.md)")
	}
	// Admit refuses raw input that cannot be opened. An error here would fail the workflow instead.
	undecoded := converter.NewRawValue(&common.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(undecodable)}, Data: []byte(undecodable),
	})
	for _, value := range to {
		raw, ok := value.(*converter.RawValue)
		if !ok {
			return err
		}
		*raw = undecoded
	}
	return nil
}

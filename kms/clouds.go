package kms

import (
	"context"
	"errors"

	"github.com/tink-crypto/tink-go-awskms/v3/integration/awskms"
	"github.com/tink-crypto/tink-go-gcpkms/v2/integration/gcpkms"
	"github.com/tink-crypto/tink-go/v2/core/registry"
)

const (
	// awsScheme is of keys such as aws-kms://arn:aws:kms:eu-central-1:123456789012:key/ID.
	awsScheme = "aws-kms"
	// gcpScheme is of keys such as gcp-kms://projects/P/locations/L/keyRings/R/cryptoKeys/K.
	gcpScheme = "gcp-kms"
)

func openAWS(ctx context.Context, key string) (registry.KMSClient, error) {
	client, err := awskms.NewClientWithOptions(ctx, key)
	if err != nil {
		return nil, errors.New("that is no ARN of a key, or the configuration of AWS cannot be read")
	}
	return client, nil
}

func openGCP(ctx context.Context, key string) (registry.KMSClient, error) {
	client, err := gcpkms.NewClient(ctx, key)
	if err != nil {
		return nil, errors.New("there are no application default credentials: set GOOGLE_APPLICATION_CREDENTIALS, or run where Google gives some")
	}
	return client, nil
}

package kms

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/aws/smithy-go"
	vault "github.com/hashicorp/vault/api"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// reason returns an error with the code of err only. The rest of a service's answer may contain
// anything, also the request.
func reason(ctx context.Context, err error) error {
	var aws smithy.APIError
	var answer *vault.ResponseError
	var dns *net.DNSError
	var where *url.Error
	var timeout interface{ Timeout() bool }
	switch code := status.Code(err); {
	case errors.As(err, &aws):
		return fmt.Errorf("the service answers %s", word(aws.ErrorCode()))
	case errors.As(err, &answer):
		return fmt.Errorf("the service answers %d", answer.StatusCode)
	case ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("the service does not answer in time")
	case code != codes.Unknown && code != codes.OK:
		return fmt.Errorf("the service answers %s", code)
	case errors.As(err, &dns):
		return errors.New("there is no such host")
	case errors.As(err, &where):
		return errors.New("the service is not reached, or its certificate is not trusted")
	}
	return errors.New("the service refuses, is not reached, or knows no credentials")
}

// word returns code if it has the form of a code, and otherwise "an error".
func word(code string) string {
	for _, r := range code {
		if r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return "an error"
		}
	}
	if code == "" || len(code) > 80 {
		return "an error"
	}
	return code
}
